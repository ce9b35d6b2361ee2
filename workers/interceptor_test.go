package workers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
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

// A step that makes something of what is kept doesn't break an assumption for ever;
// for the database it waits, and nothing else on our own rows is given up.
func TestWhatIsBrokenIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step     string
		err      error
		attempts int32 // 0: for ever
	}{
		{"resources.Plan", errors.New("nobody expected this"), 10},
		{"placement.Claim", errors.New("nobody expected this"), 10},
		{"resources.Plan", faults.New(faults.Unavailable, "Busy", "busy"), 0},
		{"records.Finish", errors.New("nobody expected this"), 0},
	} {
		t.Run(c.step+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			const patience = 30
			var log strings.Builder
			env := testenv.Workflow(&errorsOut{log: textLog(&log)})
			var tried int32
			env.RegisterActivityWithOptions(func(context.Context, steps.PlanIn) error {
				if tried++; tried > patience {
					return nil
				}
				return c.err
			}, activity.RegisterOptions{Name: c.step})
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Second,
					ScheduleToCloseTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond, BackoffCoefficient: 1}})
				return workflow.ExecuteLocalActivity(ctx, c.step, steps.PlanIn{}).Get(ctx, nil)
			})
			err := env.GetWorkflowError()
			if c.attempts == 0 && (err != nil || tried != patience+1) || c.attempts > 0 && (steps.Decode(err) == nil || tried != c.attempts) {
				t.Errorf("%d tries, then %v", tried, err)
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
