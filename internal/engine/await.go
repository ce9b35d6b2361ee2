package engine

// Requests that are answered when their operation is done.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// looksEvery is the time between two looks at an operation that is waited for.
const looksEvery = 100 * time.Millisecond

// Await waits for an operation to end, until enough of it is done or, at the latest,
// for longest, and gives it as it is then. Errors: enough's; the context's.
func (e *Engine) Await(ctx context.Context, q store.Queryer, id string, longest time.Duration, enough func() (bool, error)) (Operation, error) {
	over := time.After(longest)
	for {
		op, err := e.Get(ctx, q, id)
		if err != nil || op.Finished() {
			return op, err
		}
		if done, err := enough(); err != nil || done {
			return op, err
		}
		select {
		case <-ctx.Done():
			return op, ctx.Err()
		case <-over:
			return op, nil
		case <-time.After(looksEvery):
		}
	}
}

// ToTheEnd is enough for who waits for all of an operation.
func ToTheEnd() (bool, error) { return false, nil }

// Failure is what an operation that has ended failed with, nil for nothing: of the kind
// that its code has, or else internal.
func (o Operation) Failure(kinds map[string]faults.Kind) error {
	if o.Result == operations.ResultDone {
		return nil
	}
	kind, ok := kinds[o.ErrorCode]
	if !ok {
		kind = faults.Internal
	}
	return faults.New(kind, o.ErrorCode, "%s", o.Message)
}
