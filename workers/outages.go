package workers

// Outages of the database, as steps that call services and machines meet them.

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"holdfast.dev/internal/store"
)

// awayPause is the first time between two tries of a step that has met a database which is
// away; it doubles up to mostAwayPause.
const (
	awayPause     = 500 * time.Millisecond
	mostAwayPause = 5 * time.Second
)

// outages has a step wait for the database, and begin again. Its tries are few, since they
// are for what services and machines say: an outage would use them up in seconds, and fail
// an operation that nothing is wrong with.
type outages struct {
	interceptor.WorkerInterceptorBase
	pause time.Duration
}

func (o *outages) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &outlasting{interceptor.ActivityInboundInterceptorBase{Next: next}, o.pause}
}

type outlasting struct {
	interceptor.ActivityInboundInterceptorBase
	pause time.Duration
}

// ExecuteActivity runs the activity until it meets no outage, for half of the time that it
// has. A local one is repeated by its workflow, for as long as it takes.
func (o *outlasting) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	until := time.Now().Add(time.Until(info.Deadline) / 2)
	for wait := newBackoff(o.pause, mostAwayPause); ; {
		out, err := o.Next.ExecuteActivity(ctx, in)
		if info.IsLocalActivity || !store.IsAway(err) || time.Now().After(until) || wait.pause(ctx) != nil {
			return out, err
		}
	}
}
