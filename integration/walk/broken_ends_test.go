//go:build moves

package walk

// Moves between two real hosts whose end is broken: a revert or a confirmation that
// fails or is cancelled half-way, or a guest that is deleted in the middle.

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// paid waits until no host owes anything, and audits then.
func (c *cloud) paid() {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		out, err := exec.Command(os.Getenv(binaryKey), "--config", c.Config, "audit", "--json").Output()
		var report struct{ Owed int }
		if err == nil {
			err = json.Unmarshal(out, &report)
		}
		if err == nil && report.Owed == 0 {
			break
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("holdfast audit --json: %v: %s", err, out)
		}
	}
	c.audit()
}

// waitsAsItDid says that the guest runs on the second host, has not booted since it
// was up for as long, goes on with its n records and waits to be confirmed; the first
// host has what it was, and it stands still. It gives how many records and how long
// an uptime it has.
func (g *traveller) waitsAsItDid(n int, up float64) (int, float64) {
	g.t.Helper()
	g.cloud.paid()
	g.awaits(1, "m1.micro")
	for host, want := range [][]string{nil, {g.domain()}} {
		if runs, has := g.cloud.domainsOn(host), g.cloud.domainsOn(host, "--all"); !slices.Equal(runs, want) || len(has) != 1 {
			g.t.Errorf("host %d has the guests %v, of which %v run", host, has, runs)
		}
	}
	return g.written(1, n), g.older(1, up)
}

// TestBrokenRevertsOfHosts: until the old host runs the guest, it is on the new one
// as it was, and has not even booted; from then on it is on the old one, and what is
// on the new one goes.
func TestBrokenRevertsOfHosts(t *testing.T) {
	g, points := breakable(t)
	away := func(n int) int {
		g.run("server", "resize", "--flavor", "m1.micro", "traveller")
		g.awaits(1, "m1.micro")
		return g.written(1, n)
	}
	kept := g.written(0, 0)
	n := away(kept)
	up := g.uptime(1)
	for _, b := range slices.Concat(breaks(
		[]string{"power.freeze", "resize.record", "resize.define", "resize.start", "resize.done"},
		[]string{"power.freeze", "resize.record", "resize.start"},
	), []broken{{point: "resize.done", cancelled: true, again: "power.done"}}) {
		g.broken(points, b, "revert-resize", "resize", "revert", "traveller")
		n, up = g.waitsAsItDid(n, up)
	}
	for i, b := range []broken{
		{point: "destroy.stop", late: true},
		{point: "destroy.folder", late: true, cancelled: true},
		{point: "destroy.done", late: true},
	} {
		if i > 0 {
			away(kept)
		}
		g.broken(points, b, "revert-resize", "resize", "revert", "traveller")
		g.cloud.paid()
		kept = g.asItWas(kept)
	}
	g.ends(0)
}

// TestBrokenConfirmsOfHosts: whatever the old host says, the guest is the new one's,
// and is left alone.
func TestBrokenConfirmsOfHosts(t *testing.T) {
	g, points := breakable(t)
	n, host := g.written(0, 0), 0
	for _, b := range []broken{
		{point: "destroy.stop", late: true},
		{point: "destroy.undefine", late: true},
		{point: "destroy.taps", late: true},
		{point: "destroy.folder", late: true},
		{point: "destroy.folder", late: true, cancelled: true},
		{point: "destroy.done", late: true},
	} {
		host = 1 - host
		g.run("server", "migrate", "traveller")
		g.awaits(host, "m1.nano")
		up := g.uptime(host)
		g.broken(points, b, "confirm-resize", "migration", "confirm", "traveller")
		g.cloud.paid()
		n = g.goneOn(host, "m1.nano", n)
		g.older(host, up)
	}
	g.ends(host)
}

// TestDeletedMovesOfHosts: of a guest that is deleted in the middle of a move, or of
// its end, nothing is left on either host.
func TestDeletedMovesOfHosts(t *testing.T) {
	g, points := breakable(t)
	migrate := func() { g.run("server", "migrate", "traveller"); g.awaits(1, "m1.nano") }
	down := func() { g.run("compute", "service", "set", "--down", g.hosts[0], "nova-compute") }
	for i, d := range []struct {
		broken
		before func()
		move   []string
	}{
		{broken{point: "receive.disks"}, nil, []string{"resize", "--flavor", "m1.micro"}},
		{broken{point: "resize.start"}, nil, []string{"migrate"}},
		{broken{point: "land.done"}, nil, []string{"migrate", "--live-migration", "--block-migration"}},
		{broken{point: "migrate.move"}, nil, []string{"migrate", "--live-migration", "--block-migration"}},
		{broken{point: "build.start"}, down, []string{"evacuate"}},
		{broken{point: "resize.start"}, migrate, []string{"migration", "revert"}},
		{broken{point: "destroy.folder", late: true}, migrate, []string{"migration", "revert"}},
		{broken{point: "destroy.folder", late: true}, migrate, []string{"migration", "confirm"}},
	} {
		if i > 0 {
			g.begins()
		}
		if d.before != nil {
			d.before()
		}
		g.must(points.Order(g.id, d.point))
		g.ask(slices.Concat([]string{"server"}, d.move, []string{"traveller"})...)
		g.until("it has come to "+d.point, func() bool {
			there, err := points.Here(g.id, d.point)
			g.must(err)
			return there
		})
		g.run("server", "delete", "traveller")
		if d.late {
			g.must(points.Release(g.id))
		}
		g.until("it is gone", func() bool { return len(g.list("server", "list")) == 0 })
		g.must(points.Release(g.id))
		g.run("compute", "service", "set", "--up", g.hosts[0], "nova-compute")
		g.hosts = g.client.hosts(2)
		g.cloud.paid()
		g.cloud.clean()
		o := g.operations()[0]
		if o.verb() != "delete" || o.State != "done" || o.Finished == nil {
			t.Fatalf("deleted at %s: %+v", d.point, o)
		}
		t.Logf("took %.1f s: deleted at %s of %v", o.Finished.Sub(o.Created).Seconds(), d.point, d.move)
	}
	g.cloud.interrupt()
}
