//go:build moves

package walk

// Moves between two real hosts of a guest that stands still, with the real client.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// awaits waits until the guest is to be confirmed, on a host, in a size.
func (g *traveller) awaits(host int, flavor string) {
	g.t.Helper()
	g.becomes("traveller", "VERIFY_RESIZE")
	now := g.show("server", "show", "traveller")
	if now["OS-EXT-SRV-ATTR:host"] != g.hosts[host] || !strings.Contains(fmt.Sprint(now["flavor"]), flavor) {
		g.t.Errorf("it waits on %v as %v, want %s and %s", now["OS-EXT-SRV-ATTR:host"], now["flavor"], g.hosts[host], flavor)
	}
}

// goneOn waits until the guest runs, on a host, in a size, and has gone on with its
// records; it gives how many there are.
func (g *traveller) goneOn(host int, flavor string, from int) int {
	g.t.Helper()
	g.becomes("traveller", "ACTIVE")
	g.on(host)
	if now := g.show("server", "show", "traveller"); !strings.Contains(fmt.Sprint(now["flavor"]), flavor) {
		g.t.Errorf("its flavor is %v, want %s", now["flavor"], flavor)
	}
	return g.written(host, from)
}

// written waits until the guest has more records on its disk than it had.
func (g *traveller) written(host, from int) int {
	g.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		counts := strings.Fields(g.says(host, "records", "records: ")) // disk N memory M, which begins at each boot
		if len(counts) < 2 {
			g.t.Fatalf("the guest said %v", counts)
		}
		if n, err := strconv.Atoi(counts[1]); err != nil || n > from {
			return n
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("the guest has %v, and had %d", counts, from)
		}
	}
}

// has says what the guest is made of.
func (g *traveller) has(host, vcpus, memoryMB int) {
	g.t.Helper()
	said := strings.Join(strings.Fields(g.virsh(host, "dominfo", g.domain())), " ")
	if want := fmt.Sprintf("CPU(s): %d ", vcpus); !strings.Contains(said, want) {
		g.t.Errorf("want %s: %s", want, said)
	}
	if want := fmt.Sprintf("Max memory: %d KiB ", memoryMB<<10); !strings.Contains(said, want) {
		g.t.Errorf("want %s: %s", want, said)
	}
}

// TestColdMovesOfHosts: what a guest has written is there after each move, and the
// hosts have nothing of it but where it is.
func TestColdMovesOfHosts(t *testing.T) {
	c, g := newTraveller(t)
	n := g.written(0, 0)

	g.run("server", "migrate", "traveller")
	g.awaits(1, "m1.nano")
	g.run("server", "migration", "confirm", "traveller")
	n = g.goneOn(1, "m1.nano", n)

	g.run("server", "resize", "--flavor", "m1.tiny", "traveller")
	g.awaits(0, "m1.tiny")
	g.run("server", "resize", "revert", "traveller")
	n = g.goneOn(1, "m1.nano", n)

	g.run("server", "resize", "--flavor", "m1.tiny", "traveller")
	g.awaits(0, "m1.tiny")
	g.run("server", "resize", "confirm", "traveller")
	n = g.goneOn(0, "m1.tiny", n)

	g.run("server", "shelve", "--offload", "--wait", "traveller")
	g.becomes("traveller", "SHELVED_OFFLOADED")
	for i := range g.hosts {
		if got := c.domainsOn(i, "--all"); len(got) != 0 {
			t.Errorf("host %d has %v of a server on the shelf", i, got)
		}
	}
	g.run("server", "unshelve", "--host", g.hosts[1], "--wait", "traveller")
	g.goneOn(1, "m1.tiny", n)
	g.run("server", "stop", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.whole(1)
	g.run("server", "start", "traveller")
	g.becomes("traveller", "ACTIVE")

	// Its own disk was on the host that is given up: it begins anew, and stands still
	// since 2.95.
	g.run("compute", "service", "set", "--down", g.hosts[1], "nova-compute")
	g.run("server", "evacuate", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.run("compute", "service", "set", "--up", g.hosts[1], "nova-compute")
	g.until("the host that came back lets go of the guest", func() bool { return len(c.domainsOn(1, "--all")) == 0 })
	g.run("server", "start", "traveller")
	g.goneOn(0, "m1.tiny", 0)
	g.took()
	g.run("server", "delete", "--wait", "traveller")
	c.clean()
	c.interrupt()
}

// TestResizesDownOfHosts: a guest gets fewer processors and less memory and keeps
// its disk, or has what it had when that is reverted. A smaller disk is refused
// before anything is touched.
func TestResizesDownOfHosts(t *testing.T) {
	c, g := newTraveller(t)
	for name, size := range map[string][3]string{"twin": {"2", "256", "2"}, "slim": {"1", "128", "2"}, "diskless": {"1", "128", "0"}} {
		g.run("flavor", "create", "--vcpus", size[0], "--ram", size[1], "--disk", size[2], name)
	}
	n := g.written(0, 0)

	g.run("server", "resize", "--flavor", "twin", "traveller")
	g.awaits(1, "twin")
	g.run("server", "resize", "confirm", "traveller")
	n = g.goneOn(1, "twin", n)
	g.has(1, 2, 256)

	g.run("server", "resize", "--flavor", "slim", "traveller")
	g.awaits(0, "slim")
	g.has(0, 1, 128)
	g.run("server", "resize", "revert", "traveller")
	n = g.goneOn(1, "twin", n)
	g.has(1, 2, 256)

	g.run("server", "resize", "--flavor", "slim", "traveller")
	g.awaits(0, "slim")
	g.run("server", "resize", "confirm", "traveller")
	n = g.goneOn(0, "slim", n)
	g.has(0, 1, 128)

	up := g.uptime(0)
	g.refused("Resize to zero disk flavor is not allowed.", "server", "resize", "--flavor", "diskless", "traveller")
	g.run("server", "resize", "--flavor", "m1.nano", "traveller")
	g.became("error")
	const why = "Resize error: Unable to resize disk down."
	if o := g.operations()[0]; o.verb() != "resize" || o.State != "failed" || o.Message != why {
		t.Errorf("a smaller disk: %+v; want %s", o, why)
	}
	g.goneOn(0, "slim", n)
	g.has(0, 1, 128)
	g.older(0, up)
	g.run("server", "stop", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.whole(0)
	g.took()
	g.run("server", "delete", "--wait", "traveller")
	c.clean()
	c.interrupt()
}
