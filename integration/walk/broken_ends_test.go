//go:build moves

package walk

// Moves between two real hosts whose end is broken: a revert that fails or is
// cancelled half-way.

import (
	"slices"
	"testing"
)

// waitsAsItDid says that the guest runs on the second host, has not booted since it
// was up for as long, goes on with its n records and waits to be confirmed; the first
// host has what it was, and it stands still. It gives how many records and how long
// an uptime it has.
func (g *traveller) waitsAsItDid(n int, up float64) (int, float64) {
	g.t.Helper()
	g.cloud.audit()
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
		g.cloud.audit()
		kept = g.asItWas(kept)
	}
	g.ends(0)
}
