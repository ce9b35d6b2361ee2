package libvirt

// Heartbeats while something slow is done: they say that the host is alive, and
// only their answers bring a cancel.

import (
	"context"
	"time"
)

// beatEvery is far below the heartbeat timeout of host steps (10 s). The SDK
// sends what is needed and holds back the rest.
const beatEvery = time.Second

// beat runs f and sends heartbeats until it returns. The first one comes after a
// while: Temporal counts from the step's start, writes each to its database, and
// most steps are over by then.
func (a *Activities) beat(ctx context.Context, f func(context.Context) error) error {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				a.heartbeat(ctx)
			}
		}
	}()
	err := f(ctx)
	close(done)
	<-stopped
	return err
}
