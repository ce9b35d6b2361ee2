package engine

// Traces go from the request that is answered to the workflow that is started
// afterwards, perhaps by another process: the operation's row carries them.

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

const traceParent = "traceparent" // W3C Trace Context

// noteTrace writes down the span that the operation is accepted in; without one
// it costs nothing.
func (b *batch) noteTrace(ctx context.Context, operationID string) {
	carried := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carried)
	if carried[traceParent] != "" {
		b.Queue(`UPDATE engine.operations SET trace_parent = $2 WHERE id = $1`, operationID, carried[traceParent])
	}
}

// withTrace puts the span that the operation was accepted in into the context.
func withTrace(ctx context.Context, op Operation) context.Context {
	if op.TraceParent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceParent: op.TraceParent})
}
