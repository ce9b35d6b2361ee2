package chaos

// Cancels that are asked for while what would carry them out is away.

import (
	"context"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// A cancel that is asked for while Temporal is down counts.
func TestCancelWithoutTemporal(t *testing.T) {
	t.Parallel()
	cancel := gentle[0]
	// A task that Temporal forgot may have written that the operation goes beyond
	// its point of no return, before the next one hears of the cancel.
	cancel.driven = ends{always: {driven}, unbegun: {undriven}, early: {undriven, driven}, crossing: {undriven, driven}}
	c := cloud.Start(t, cloud.Options{Hosts: 6})
	var all []held
	for _, s := range every {
		all = append(all, s.hang(t, c, cancel.name)...)
	}
	c.Kill(cloud.Temporal)
	cancel.do(t, c, all)
	cancel.letGo(t, c, all)
	c.Restart(cloud.Temporal)
	cancel.check(t, c, all)
	for _, h := range all {
		must(t, c.Points.Release(h.server))
	}
	c.Audit()
}

// A cancel reaches operations whose host dies. What the host holds is owed, and
// paid when it is back; a guest whose power nobody could ask for is asked then.
func TestCancelWhileHostsAreDead(t *testing.T) {
	t.Parallel()
	cancel := gentle[0]
	cancel.adrift = true
	// Nobody can finish what a dead host has begun.
	// The comparison of power with states makes a guest that is off SHUTOFF, and
	// one whose memory is saved SUSPENDED.
	off, saved := outcome{"SHUTOFF", operations.ResultFailed}, outcome{"SUSPENDED", operations.ResultFailed}
	cancel.driven = ends{unbegun: {undriven}, early: {undriven}, crossing: {undriven, lostSoon, off, saved}, beyond: {lostSoon, off, saved}, closing: {driven}, over: {driven}}
	for name, stories := range map[string][]story{"build": {build}, "delete": {deletion}, "power": powers} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cloud.Start(t, cloud.Options{Hosts: 6, Config: map[string]any{"compute.sync_power_state_interval": "2s"}})
			var all []held
			for _, s := range stories {
				all = append(all, s.hang(t, c, cancel.name)...)
			}
			c.Kill(cloud.Host)
			cancel.do(t, c, all)
			for _, h := range all {
				must(t, c.Points.Release(h.server))
			}
			for _, h := range all {
				finished(t, c, h.op.ID)
			}
			report, err := c.Report(t.Context())
			if owes := !all[0].story.driven; err != nil || len(report.Findings) > 0 || report.Unfinished > 0 || report.Owed > 0 != owes {
				t.Errorf("with the hosts dead the audit says %+v, %v; want debts (%t) and nothing else", report, err, owes)
			}
			c.Restart(cloud.Host)
			c.AwaitHosts()
			c.Audit()
			cancel.check(t, c, all)
			for _, h := range all {
				if h.story.driven && h.phase() == beyond {
					h.story.askAgain(t, c, h.server)
				}
			}
			clearAway(t, c, all)
		})
	}
}

// askAgain asks for the operation until it has led where it leads to.
func (s story) askAgain(t *testing.T, c *cloud.Cloud, server string) {
	t.Helper()
	c.Eventually("server "+server+" is where a "+s.verb+" leads to", patience, func(ctx context.Context) error {
		err := c.Is(ctx, server, s.after)
		if err == nil {
			err = trueState(ctx, c, server, false)
		}
		if err != nil {
			_ = s.ask(ctx, c, server) // refused for as long as something is done to it
		}
		return err
	})
}
