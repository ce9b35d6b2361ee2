package workers

// Trusts that are ended when their stacks are gone.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// StackTrusts ends the trusts of stacks that are deleted, and of those that never
// came to be.
type StackTrusts struct {
	DB *store.DB
	// End ends one; one that is gone is no error.
	End func(ctx context.Context, id string) error
	Log *slog.Logger
}

const (
	// trustsEvery is how often it is looked for such trusts.
	trustsEvery = 5 * time.Second
	// trustsUnborn is how long a stack may take to be there after its trust.
	trustsUnborn = 10 * time.Minute
)

// Run looks until ctx ends.
func (t StackTrusts) Run(ctx context.Context) {
	tick := time.NewTicker(trustsEvery)
	defer tick.Stop()
	for {
		if err := t.Once(ctx); err != nil && ctx.Err() == nil {
			t.Log.Warn("trusts of deleted stacks can't be ended yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Once ends what is to be ended now. A trust is forgotten once it has ended.
func (t StackTrusts) Once(ctx context.Context) error {
	ids, err := orchestration.TrustsToEnd(ctx, t.DB.Pool, trustsUnborn)
	for _, id := range ids {
		one := t.End(ctx, id)
		if one == nil {
			one = orchestration.DeleteTrust(ctx, t.DB.Pool, id)
		}
		err = errors.Join(err, one)
	}
	return err
}
