package workers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// What a workflow gets of an activity's error, and what the log gets.
func TestErrorsOut(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial postgres://bob:canary@db failed, password=canary")
	for _, c := range []struct {
		name      string
		err       error
		kind      faults.Kind
		code, msg string
		retry     bool
	}{
		{"fault", faults.New(faults.NotFound, "GuestNotFound", "no guest"), faults.NotFound, "GuestNotFound", "no guest", false},
		{"fault with a cause", faults.Wrap(cause, faults.Unavailable, "Busy", "try again, token=canary"), faults.Unavailable, "Busy", "try again, token=***", true},
		{"untyped", cause, faults.Internal, "InternalError", "an unexpected error occurred", true},
		{"interrupted by a stop", context.Canceled, faults.Internal, "InternalError", "an unexpected error occurred", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			env := activityEnv(&log)
			activity := func(context.Context, steps.DestroyIn) error { return c.err }
			env.RegisterActivity(activity)
			_, err := env.ExecuteActivity(activity, steps.DestroyIn{Token: steps.Token{ServerID: "the-server", OperationID: "the-operation"}})
			f := steps.Decode(err)
			if f == nil || f.Kind != c.kind || f.Code != c.code || f.Message != c.msg {
				t.Errorf("the workflow gets %+v", f)
			}
			var app *temporal.ApplicationError
			if !errors.As(err, &app) || app.NonRetryable() == c.retry {
				t.Errorf("retried: %v, want %v", app != nil && !app.NonRetryable(), c.retry)
			}
			for _, want := range []string{"operation=the-operation", "resource=the-server", "kind=" + string(c.kind), "code=" + c.code} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q: %s", want, log.String())
				}
			}
			if strings.Contains(err.Error()+log.String(), "canary") {
				t.Errorf("a secret got out: %v\n%s", err, log.String())
			}
		})
	}
}

func TestPanicStaysInside(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	env := activityEnv(&log)
	activity := func(context.Context, steps.AdvanceIn) error { panic("secret=canary") }
	env.RegisterActivity(activity)
	_, err := env.ExecuteActivity(activity, steps.AdvanceIn{Fence: steps.Fence{OperationID: "the-operation"}})
	if f := steps.Decode(err); f == nil || f.Kind != faults.Internal || f.Message != "an unexpected error occurred" {
		t.Errorf("the workflow gets %+v", f)
	}
	if !strings.Contains(log.String(), "panic") || !strings.Contains(log.String(), "operation=the-operation") || strings.Contains(log.String(), "canary") {
		t.Errorf("the log: %s", log.String())
	}
}

// A worker that stops is another attempt's reason, not a cancel.
func TestStopIsRetried(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	env := activityEnv(&log)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: stopped,
		Interceptors: []interceptor.WorkerInterceptor{&errorsOut{log: textLog(&log)}}})
	activity := func(ctx context.Context) error { return ctx.Err() }
	env.RegisterActivity(activity)
	_, err := env.ExecuteActivity(activity)
	if f := steps.Decode(err); f == nil || f.Kind != faults.Unavailable || f.Code != "Interrupted" {
		t.Errorf("the workflow gets %v", err)
	}
}

func activityEnv(log *strings.Builder) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&errorsOut{log: textLog(log)}}})
	return env
}

func textLog(to *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }
