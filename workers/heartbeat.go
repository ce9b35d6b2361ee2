package workers

// What a control worker says of itself, so that clients see it as services.

import (
	"context"
	"log/slog"
	"time"

	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Heartbeat notes every so often that the control worker of this machine is
// alive. It may be run beside the queue; a round that fails is missed.
func Heartbeat(db *store.DB, machine string, interval time.Duration, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		every(ctx, interval, func() {
			round, cancel := context.WithTimeout(ctx, interval)
			defer cancel()
			if err := compute.BeatControl(round, db.Pool, machine); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "a heartbeat is missed", "error", redact.Text(err.Error()))
			}
		})
	}
}

// every runs round at once and then at each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, round func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		round()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
