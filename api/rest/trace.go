package rest

// The span of a request; without a collector it costs nothing.

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"holdfast.dev/internal/telemetry"
)

func startSpan(ctx context.Context, r *http.Request) (context.Context, trace.Span) {
	ctx = otel.GetTextMapPropagator().Extract(ctx, propagation.HeaderCarrier(r.Header))
	return otel.Tracer("holdfast.dev/api/rest").Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("openstack.request_id", telemetry.From(ctx).Request)))
}

// endSpan names the span after the operation's row, never after the path.
func endSpan(span trace.Span, w *recorder, e *exchange) {
	if e.operation != nil {
		span.SetName(e.operation.Name())
	}
	span.SetAttributes(attribute.Int("http.response.status_code", w.status))
	if w.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
