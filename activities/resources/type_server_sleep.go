package resources

// A server when its stack is put to sleep and woken.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// Suspend is idempotent by the server's status.
func (t Server) Suspend(ctx context.Context, c *Call) (time.Duration, error) {
	return t.turn(ctx, c, "suspend", "SUSPENDED", "Suspend of server %s failed")
}

// Resume is idempotent by the server's status.
func (t Server) Resume(ctx context.Context, c *Call) (time.Duration, error) {
	return t.turn(ctx, c, "resume", "ACTIVE", "%s is not active")
}

// turn has a server come to a status by an action, which is asked for once. What keeps
// it from that is waited for; a server that is idle after it, in another status, has
// failed to.
func (t Server) turn(ctx context.Context, c *Call, action, to, failed string) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	server, status, err := w.server(ctx)
	switch {
	case faults.Is(err, faults.NotFound):
		return 0, faults.New(faults.NotFound, "NotFound", "Failed to find server %s", c.PhysicalID)
	case err != nil:
		return 0, err
	case status == to:
		return 0, nil
	case has(c.Data, askedKey) != action:
		return w.ask(ctx, action, nil)
	case has(server, "OS-EXT-STS:task_state") != nil:
		return pause, nil
	}
	return 0, faults.New(faults.Invalid, "ResourceUnknownStatus", failed+` - Unknown status %s due to "Unknown"`, value.Str(has(server, "name")), status)
}
