package engine

// Traces go from the request that is answered to the workflow that is started
// afterwards, perhaps by another process: the operation's row carries them.

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/propagation"

	"holdfast.dev/internal/store"
)

const traceParent = "traceparent" // W3C Trace Context

// noteTrace writes down the span that the operation is accepted in; without one
// it costs nothing.
func noteTrace(ctx context.Context, tx store.Tx, operationID string) error {
	carried := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carried)
	if carried[traceParent] == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE engine.operations SET trace_parent = $2 WHERE id = $1`, operationID, carried[traceParent])
	if err != nil {
		return fmt.Errorf("trace of %s: %w", operationID, store.Translate(err))
	}
	return nil
}

// withTrace puts the span that the operation was accepted in into the context.
func withTrace(ctx context.Context, op Operation) context.Context {
	if op.TraceParent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceParent: op.TraceParent})
}
