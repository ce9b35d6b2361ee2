package chaos

// Cancels that are asked for while what would carry them out is away.

import (
	"context"
	"maps"
	"slices"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// withoutTemporal and withoutHosts are the stories of which operations are cancelled
// while Temporal or their hosts are away, by the cloud that they are told in.
func withoutTemporal(full bool) map[string][]story {
	told := withOthers(full)
	told["builds, deletes and power"] = slices.Concat(every, []story{crashDump})
	return told
}

func withoutHosts(full bool) map[string][]story {
	told := withOthers(full)
	told["build"], told["delete"], told["power"] = []story{build}, []story{deletion}, slices.Concat(powers, []story{crashDump})
	return told
}

// withOthers are the stories that are about more than a build, a delete or power: but
// in full one cloud for those that need no hosts of their own.
func withOthers(full bool) map[string][]story {
	if !full {
		return map[string][]story{"others": together(slices.Concat(remade, aside, devices)...)}
	}
	return map[string][]story{"remade": together(remade...), "aside": together(aside...), "devices": together(devices...),
		"live migration": {liveMigration}, "evacuation": {evacuation}}
}

// A cancel that is asked for while Temporal is down counts.
func TestCancelWithoutTemporal(t *testing.T) {
	t.Parallel()
	cancel := gentle[0]
	// A task that Temporal forgot may have written that the operation goes beyond
	// its point of no return, before the next one hears of the cancel.
	cancel.driven = ends{always: {driven}, unbegun: {undriven}, early: {undriven, driven}, crossing: {undriven, driven}}
	for name, stories := range withoutTemporal(full) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := stories[0].start(t, 12, cancel.name)
			var all []held
			for _, s := range stories {
				all = append(all, s.hang(t, c, cancel.name)...)
			}
			c.Kill(cloud.Temporal)
			cancel.do(t, c, all)
			cancel.letGo(t, c, all)
			c.Restart(cloud.Temporal)
			for _, h := range all {
				finished(t, c, h.op.ID)
			}
			stories[0].restore(c)
			cancel.check(t, c, all)
			for _, h := range all {
				must(t, c.Points.Release(h.server))
			}
			checkImages(t, c, all)
			checkVolumes(t, c, all)
			checkInterfaces(t, c, all)
			c.Audit()
			clearAway(t, c, all)
		})
	}
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
	cancel.hostless = []outcome{unfinished}
	for name, stories := range withoutHosts(full) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range stories {
				config := map[string]any{"compute.sync_power_state_interval": "2s"}
				maps.Copy(config, stories[i].cloud.Config)
				stories[i].cloud.Config = config
			}
			c := stories[0].start(t, 6, cancel.name)
			var all []held
			for _, s := range stories {
				all = append(all, s.hang(t, c, cancel.name)...)
			}
			c.Kill(cloud.Host)
			cancel.do(t, c, all)
			for _, h := range all {
				must(t, c.Points.Release(h.server))
			}
			waiting := 0
			for _, h := range all {
				if h.story.waits && (h.phase() == crossing || h.phase() == beyond) {
					waiting++
				} else {
					finishedWithin(t, c, h.op.ID, patience) // each host that has something of it is waited for
				}
			}
			report, err := c.Report(t.Context())
			if err != nil || len(report.Findings) > 0 || report.Unfinished != waiting {
				t.Errorf("with the hosts dead the audit says %+v, %v; want debts and %d operations unfinished", report, err, waiting)
			}
			if owes := !all[0].story.driven; !all[0].story.moved && report.Owed > 0 != owes {
				t.Errorf("with the hosts dead %d effects are owed, want some (%t)", report.Owed, owes)
			}
			c.Restart(cloud.Host)
			stories[0].restore(c)
			c.AwaitHosts()
			c.Audit()
			cancel.check(t, c, all)
			for _, h := range all {
				switch {
				case h.story.driven && h.phase() == beyond:
					h.story.askAgain(t, c, h.server)
				case h.needsHost():
					must(t, h.story.ask(t.Context(), c, h.server))
					h.story.askAgain(t, c, h.server)
				}
			}
			c.Audit()
			checkImages(t, c, all)
			checkVolumes(t, c, all)
			checkInterfaces(t, c, all)
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
