package telemetry

// The log: slog, with the ids that the context carries on every line.

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"holdfast.dev/internal/redact"
)

// IDs say what a line of the log is about. Empty ones are left out.
type IDs struct {
	// Request is the own id of an API request, "req-<uuid>"; GlobalRequest the
	// one that the caller's service sent along.
	Request, GlobalRequest string
	// Operation and Resource are ids of the engine.
	Operation, Resource string
}

type idsKey struct{}

// With adds ids to those that the context carries.
func With(ctx context.Context, add IDs) context.Context {
	ids := From(ctx)
	for _, set := range []struct {
		to   *string
		from string
	}{
		{&ids.Request, add.Request},
		{&ids.GlobalRequest, add.GlobalRequest},
		{&ids.Operation, add.Operation},
		{&ids.Resource, add.Resource},
	} {
		if set.from != "" {
			*set.to = set.from
		}
	}
	return context.WithValue(ctx, idsKey{}, ids)
}

// From gives the ids that the context carries.
func From(ctx context.Context) IDs {
	ids, _ := ctx.Value(idsKey{}).(IDs)
	return ids
}

// NewLogger makes the process's logger, which writes no secret that an error
// holds. level is debug, info, warn or error,
// format json or text (config checks both).
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		least = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: withoutSecrets}
	if format == "text" {
		return slog.New(withIDs{slog.NewTextHandler(w, options)})
	}
	return slog.New(withIDs{slog.NewJSONHandler(w, options)})
}

// withoutSecrets redacts errors, whose texts come from anywhere: each that is
// logged, whoever logs it.
func withoutSecrets(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, redact.Text(err.Error()))
	}
	if a.Value.Kind() == slog.KindString && strings.EqualFold(a.Key, "error") {
		return slog.String(a.Key, redact.Text(a.Value.String()))
	}
	return a
}

// withIDs is a handler that writes the context's ids.
type withIDs struct{ slog.Handler }

func (h withIDs) Handle(ctx context.Context, r slog.Record) error {
	ids := From(ctx)
	for _, id := range []struct{ name, value string }{
		{"request_id", ids.Request},
		{"global_request_id", ids.GlobalRequest},
		{"operation", ids.Operation},
		{"resource", ids.Resource},
	} {
		if id.value != "" {
			r.AddAttrs(slog.String(id.name, id.value))
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h withIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withIDs{h.Handler.WithAttrs(attrs)}
}
func (h withIDs) WithGroup(name string) slog.Handler { return withIDs{h.Handler.WithGroup(name)} }
