package workers

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

// A step that waits for something silent is known to be alive.
func TestBeats(t *testing.T) {
	t.Parallel()
	env := activityEnv(&strings.Builder{})
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&beats{every: time.Millisecond}}})
	beaten := make(chan struct{}, 100)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
		select {
		case beaten <- struct{}{}:
		default:
		}
	})
	silent := func(ctx context.Context) error {
		for range 2 {
			select {
			case <-beaten:
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Minute):
				t.Error("the step isn't known to be alive")
			}
		}
		return nil
	}
	env.RegisterActivity(silent)
	if _, err := env.ExecuteActivity(silent); err != nil {
		t.Error(err)
	}
}
