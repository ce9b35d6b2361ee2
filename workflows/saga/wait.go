package saga

// Waits: for a host that is slow to take work, and for a knock. What the
// sender of a knock has to say is in the database; the signal itself is empty.

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// ErrHostDown is the verdict on a host that neither takes work nor shows life.
var ErrHostDown = faults.New(faults.Unavailable, "HostDown", "the host did not answer in time")

// hostPause keeps a host that refuses quickly from being asked without end.
const hostPause = 5 * time.Second

// OnHost runs f, a step on a host's queue, and repeats it for as long as the
// host is alive and merely slow to take it, up to the context's deadline. It
// returns ErrHostDown once the host's heartbeats have stopped too.
func OnHost(ctx workflow.Context, host string, f func(workflow.Context) error) error {
	for {
		err := f(ctx)
		if !steps.IsHostSilent(err) {
			return err
		}
		if h, lookErr := steps.Records.Host(ctx, steps.HostIn{HostID: host}); lookErr != nil {
			return lookErr
		} else if !h.Up {
			return ErrHostDown
		}
		if err := Wait(ctx, hostPause, "the host is busy"); err != nil {
			return err
		}
	}
}

// Wait returns after d, or earlier at a knock; after a cancel it returns the
// context's error. The summary says in the Temporal UI what is waited for.
func Wait(ctx workflow.Context, d time.Duration, summary string) error {
	timerCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	workflow.NewSelector(ctx).
		AddFuture(workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: summary}), func(workflow.Future) {}).
		AddReceive(workflow.GetSignalChannel(ctx, steps.Knock), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		Select(ctx)
	return ctx.Err()
}

// drain takes what signals are left, knocks and any others: none of them means
// anything once the operation has ended.
func drain(ctx workflow.Context) {
	for _, name := range workflow.GetUnhandledSignalNames(ctx) {
		for c := workflow.GetSignalChannel(ctx, name); c.ReceiveAsync(nil); {
		}
	}
}
