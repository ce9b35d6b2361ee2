package steps_test

import (
	"errors"
	"fmt"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

func TestAFaultCrossesTheActivity(t *testing.T) {
	t.Parallel()
	for kind, retryable := range map[faults.Kind]bool{
		faults.Invalid: false, faults.Unauthorized: false, faults.Forbidden: false, faults.NotFound: false,
		faults.Conflict: false, faults.OverLimit: false, faults.Superseded: false, faults.NoCapacity: false,
		faults.Unavailable: true, faults.Internal: true,
	} {
		cause := fmt.Errorf("deep down: %w", faults.Wrap(errors.New("password=hunter2"), kind, "Code", "what the user reads"))
		err := steps.Encode(cause)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.NonRetryable() == retryable {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if app.Unwrap() != nil {
			t.Errorf("%s: the cause goes into the history", kind)
		}
		if f := steps.Decode(err); f.Kind != kind || f.Code != "Code" || f.Message != "what the user reads" {
			t.Errorf("%s came over as %+v", kind, f)
		}
		if steps.IsSuperseded(err) != (kind == faults.Superseded) {
			t.Errorf("%s: superseded is %t", kind, steps.IsSuperseded(err))
		}
	}
}

func TestWhatIsNoFaultOfOurs(t *testing.T) {
	t.Parallel()
	if steps.Encode(nil) != nil {
		t.Error("nil became an error")
	}
	if f := steps.Decode(temporal.NewCanceledError()); f != nil {
		t.Errorf("a cancel is the fault %v", f)
	}
	f := steps.Decode(temporal.NewApplicationError("panic: secret", "PanicError"))
	if f == nil || f.Kind != faults.Internal || f.Message != "an unexpected error occurred" {
		t.Errorf("a panic came over as %+v", f)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[enums.TimeoutType]struct{ silent, slow bool }{
		enums.TIMEOUT_TYPE_SCHEDULE_TO_START: {silent: true},
		enums.TIMEOUT_TYPE_HEARTBEAT:         {silent: true},
		enums.TIMEOUT_TYPE_START_TO_CLOSE:    {slow: true},
		enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE: {},
	} {
		err := temporal.NewTimeoutError(timeout, nil)
		if steps.IsHostSilent(err) != want.silent || steps.IsTooSlow(err) != want.slow {
			t.Errorf("%s: silent %t, slow %t", timeout, steps.IsHostSilent(err), steps.IsTooSlow(err))
		}
	}
}
