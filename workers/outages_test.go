package workers

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// A step waits for the database within one of its few tries; what a service says is for its
// workflow.
func TestOutages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code  string
		tries int
		ends  string
	}{
		{"DatabaseUnavailable", 20, ""}, {"DatabaseBusy", 20, ""}, {"RedfishError", 1, "RedfishError"},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			env := activityEnv(&log)
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&errorsOut{log: textLog(&log)}, &outages{pause: time.Microsecond}}})
			tried := 0
			step := func(context.Context) error {
				if tried++; tried == 20 {
					return nil
				}
				return faults.New(faults.Unavailable, c.code, "not now")
			}
			env.RegisterActivity(step)
			_, err := env.ExecuteActivity(step)
			code := ""
			if f := steps.Decode(err); f != nil {
				code = f.Code
			}
			if tried != c.tries || code != c.ends {
				t.Errorf("%d tries, then %v", tried, err)
			}
		})
	}
}
