//go:build moves

package walk

// Moves between two real hosts that keep their guests' folders on storage that
// both see, of a guest with a volume.

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shareStorage gives the hosts of a cloud that isn't started one folder for their
// guests.
func (c *cloud) shareStorage(count int) {
	c.t.Helper()
	name, err := os.Hostname()
	if err != nil {
		c.t.Fatal(err)
	}
	storage := filepath.Join(c.dir, "storage")
	if err := os.MkdirAll(storage, 0o711); err != nil {
		c.t.Fatal(err)
	}
	for n := 1; n <= count; n++ {
		state := filepath.Join(c.dir, "hosts", fmt.Sprintf("%s-%d", name, n))
		if err := os.MkdirAll(state, 0o711); err != nil {
			c.t.Fatal(err)
		}
		if err := os.Symlink(storage, filepath.Join(state, "guests")); err != nil {
			c.t.Fatal(err)
		}
	}
}

// pack gives the guest a volume.
func (g *traveller) pack() {
	g.t.Helper()
	g.run("volume", "create", "--size", "1", "luggage")
	g.run("server", "add", "volume", "traveller", "luggage")
}

// uses waits until the guest has its volume on a host, and has it written to: it is
// the nth time, whichever host it was on before.
func (g *traveller) uses(host, nth int) {
	g.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		disks, status := g.virsh(host, "domblklist", g.domain()), g.show("volume", "show", "luggage")["status"]
		if strings.Contains(disks, "volume-") && status == "in-use" {
			break
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("on host %d the volume is %v, and the guest has\n%s", host, status, disks)
		}
	}
	if got := g.says(host, "volume", "volume: "); got != strconv.Itoa(nth) {
		g.t.Errorf("on host %d the volume has been written %s times, want %d", host, got, nth)
	}
}

// TestSharedMigrationOfHosts: a guest goes from host to host while it runs and while
// it stands still, is made anew of its disks when its host is down, and has all that
// it has written each time; its volume goes with it.
func TestSharedMigrationOfHosts(t *testing.T) {
	c := newCloud(t, "--hosts", "2")
	c.shareStorage(2)
	g := c.traveller()
	g.pack()
	g.uses(0, 1)

	up := g.uptime(0)
	g.refused("Block migration can not be used with shared storage", "server", "migrate", "--live-migration", "--block-migration", "traveller")
	g.became("error")
	g.on(0)
	g.run("server", "migrate", "--live-migration", "--shared-migration", "--wait", "traveller")
	g.became("completed")
	g.on(1)
	g.uses(1, 2)
	n := g.counts(1)
	g.older(1, up)

	g.run("server", "migrate", "traveller")
	g.awaits(0, "m1.nano")
	g.run("server", "migration", "revert", "traveller")
	n = g.goneOn(1, "m1.nano", n)
	g.run("server", "migrate", "traveller")
	g.awaits(0, "m1.nano")
	g.run("server", "migration", "confirm", "traveller")
	n = g.goneOn(0, "m1.nano", n)
	g.uses(0, 3)

	g.virsh(0, "destroy", g.domain()) // the fence: QEMU lets nobody else have its disks
	g.run("compute", "service", "set", "--down", g.hosts[0], "nova-compute")
	g.run("server", "evacuate", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.run("compute", "service", "set", "--up", g.hosts[0], "nova-compute")
	g.until("the host that came back lets go of the guest", func() bool { return len(c.domainsOn(0, "--all")) == 0 })
	g.run("server", "start", "traveller")
	g.goneOn(1, "m1.nano", n)
	g.uses(1, 4)
	g.run("server", "stop", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.whole(1)
	g.took()
	g.run("server", "delete", "--wait", "traveller")
	g.run("volume", "delete", "luggage")
	c.clean()
	c.interrupt()
}
