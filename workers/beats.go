package workers

// Heartbeats of the steps that call services: they say that the worker is alive,
// and only their answers bring a cancel.

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// beatEvery is far below the heartbeat timeout of steps. The SDK sends what is
// needed and holds back the rest.
const beatEvery = 2 * time.Second

// beats sends heartbeats while an activity runs, whatever it waits for: each of
// its calls has a time limit, and so has the whole of it. The first one comes
// after a while, since most are over by then.
type beats struct {
	interceptor.WorkerInterceptorBase
	every time.Duration
}

func (b *beats) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &beating{interceptor.ActivityInboundInterceptorBase{Next: next}, b.every}
}

type beating struct {
	interceptor.ActivityInboundInterceptorBase
	every time.Duration
}

// ExecuteActivity runs the activity; a local one has no heartbeats.
func (b *beating) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).IsLocalActivity {
		return b.Next.ExecuteActivity(ctx, in)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(b.every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	defer func() {
		close(done)
		<-stopped
	}()
	return b.Next.ExecuteActivity(ctx, in)
}
