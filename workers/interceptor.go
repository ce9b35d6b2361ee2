package workers

// Where an activity's error becomes Temporal's.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/steps"
)

// errorsOut gives every activity of a worker the same way out for its errors.
type errorsOut struct {
	interceptor.WorkerInterceptorBase
	log *slog.Logger
}

func (e *errorsOut) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &activityErrors{interceptor.ActivityInboundInterceptorBase{Next: next}, e.log}
}

type activityErrors struct {
	interceptor.ActivityInboundInterceptorBase
	log *slog.Logger
}

// ExecuteActivity runs the activity. Its fault goes on without its cause, which
// the log gets; both without secrets. A cancel that was asked for goes on as
// one; a worker that stops is worth another attempt.
func (a *activityErrors) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			out, err = nil, a.outcome(ctx, in, err)
		}
	}()
	return a.Next.ExecuteActivity(ctx, in)
}

func (a *activityErrors) outcome(ctx context.Context, in *interceptor.ExecuteActivityInput, err error) error {
	interrupted := ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	if interrupted && temporal.IsCanceledError(context.Cause(ctx)) {
		return ctx.Err()
	}
	f := faults.As(err)
	if interrupted {
		f = faults.Wrap(err, faults.Unavailable, "Interrupted", "the step was interrupted")
	}
	told := faults.New(f.Kind, f.Code, "%s", redact.Text(f.Message))
	info := activity.GetInfo(ctx)
	operation, resource := about(in.Args)
	a.log.LogAttrs(ctx, level(f.Kind), "step failed",
		slog.String("step", info.ActivityType.Name), slog.String("operation", operation), slog.String("resource", resource),
		slog.Int("attempt", int(info.Attempt)), slog.String("kind", string(f.Kind)), slog.String("code", f.Code),
		slog.String("error", redact.Text(err.Error())))
	if step, ok := steps.Lookup(info.ActivityType.Name); ok && step.GivesUp(f.Kind, info.Attempt) {
		return steps.EncodeLast(told)
	}
	return steps.Encode(told)
}

func level(k faults.Kind) slog.Level {
	switch k {
	case faults.Internal:
		return slog.LevelError
	case faults.Unavailable:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// about finds the operation and the resource in a step's input, by the fields
// that inputs have in common.
func about(args []any) (operation, resource string) {
	if len(args) == 0 {
		return "", ""
	}
	text := func(v reflect.Value, name string) string {
		if v.Kind() != reflect.Struct {
			return ""
		}
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
		return ""
	}
	in := reflect.ValueOf(args[0])
	parts := []reflect.Value{in}
	if in.Kind() == reflect.Struct {
		parts = append(parts, in.FieldByName("Token"), in.FieldByName("Fence"))
	}
	for _, part := range parts {
		if operation == "" {
			operation = text(part, "OperationID")
		}
		for _, name := range []string{"ServerID", "HostID"} {
			if resource == "" {
				resource = text(part, name)
			}
		}
	}
	return operation, resource
}
