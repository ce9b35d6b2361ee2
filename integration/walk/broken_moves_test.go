//go:build moves

package walk

// Moves between two real hosts that fail or are cancelled half-way: the guest is
// where it was, as it was.

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/hold"
)

// broken is a move that comes to a sub-step of a host, and no further.
type broken struct {
	point     string
	cancelled bool   // it is cancelled there; it fails there otherwise
	late      bool   // it is done all the same, what failed is owed
	again     string // where the undo fails then, which is done again
}

// breaks makes one of the sub-steps at which it fails, and of those at which it is
// cancelled.
func breaks(fails, cancelled []string) (all []broken) {
	for _, point := range fails {
		all = append(all, broken{point: point})
	}
	for _, point := range cancelled {
		all = append(all, broken{point: point, cancelled: true})
	}
	return all
}

// breakable starts a cloud whose hosts take orders to fail.
func breakable(t *testing.T) (*traveller, hold.Points) {
	t.Helper()
	c := newCloud(t, "--hosts", "2")
	points := hold.Points(filepath.Join(c.dir, "points"))
	c.env = []string{"HOLDFAST_DEV_HOLD_DIR=" + string(points)}
	return c.traveller(), points
}

// broken asks for a move that is broken, and waits for its end.
func (g *traveller) broken(points hold.Points, b broken, verb string, move ...string) {
	g.t.Helper()
	order, followed, state := points.Fail, points.Failed, "failed"
	if b.cancelled {
		order, followed, state = points.Order, points.Here, "cancelled"
	}
	if b.late {
		state = "done"
	}
	g.must(order(g.id, b.point))
	// At the versions at which the client asks for a live migration the answer tells
	// what keeps the guest from leaving, if that is known within 30 s.
	if heard := g.ask(append([]string{"server"}, move...)...); heard.Code != 0 && verb != "live-migrate" {
		g.t.Fatalf("openstack server %v: %s", move, heard.Err)
	}
	g.until("it has come to "+b.point, func() bool {
		there, err := followed(g.id, b.point)
		g.must(err)
		return there
	})
	if b.again != "" {
		g.must(points.Fail(g.id, b.again))
	}
	if b.cancelled {
		out, err := exec.Command(os.Getenv(binaryKey), "--config", g.cloud.Config, "operations", "cancel", g.operations()[0].ID).CombinedOutput()
		if err != nil {
			g.t.Fatalf("holdfast operations cancel: %v: %s", err, out)
		}
	}
	if b.late {
		g.must(points.Release(g.id)) // no cancel reaches what is held there
	}
	var o operation
	g.until("the move broken at "+b.point+" is over", func() bool {
		o = g.operations()[0]
		return o.Finished != nil
	})
	if b.again != "" {
		if failed, err := points.Failed(g.id, b.again); err != nil || !failed {
			g.t.Errorf("the undo has failed: %v, %v", failed, err)
		}
	}
	g.must(points.Release(g.id))
	if o.verb() != verb || o.State != state {
		g.t.Errorf("broken at %s: %+v; want it %s", b.point, o, state)
	}
	g.t.Logf("took %.1f s: %s, %s at %s", o.Finished.Sub(o.Created).Seconds(), verb, o.State, b.point)
}

func (g *traveller) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// asItWas says that the guest runs on the first host, goes on with its records, and
// has nothing on the other; n is how many it had. It gives how many it has.
func (g *traveller) asItWas(n int) int {
	g.t.Helper()
	n = g.goneOn(0, "m1.nano", n)
	g.has(0, 1, 128)
	if left, err := filepath.Glob(filepath.Join(g.cloud.dir, "hosts", g.hosts[1], "guests", "*")); err != nil || len(left) > 0 {
		g.t.Errorf("on the other host are %v, %v", left, err)
	}
	g.cloud.audit()
	return n
}

// ends turns the guest off, reads its records and takes all away.
func (g *traveller) ends(host int) {
	g.t.Helper()
	g.run("server", "stop", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.whole(host)
	g.run("server", "delete", "--wait", "traveller")
	g.cloud.clean()
	g.cloud.interrupt()
}

// TestBrokenResizesOfHosts: the guest runs again where it was, on the disk that it
// had.
func TestBrokenResizesOfHosts(t *testing.T) {
	g, points := breakable(t)
	n := g.written(0, 0)
	for _, b := range breaks(
		[]string{"power.stop", "receive.disks", "receive.base", "resize.define", "resize.start", "resize.done"},
		[]string{"power.stop", "receive.disks", "resize.start", "resize.done"},
	) {
		g.broken(points, b, "resize", "resize", "--flavor", "m1.micro", "traveller")
		n = g.asItWas(n)
	}
	g.ends(0)
}

// TestBrokenLiveMigrationsOfHosts: one that fails when the guest has left is over
// all the same.
func TestBrokenLiveMigrationsOfHosts(t *testing.T) {
	g, points := breakable(t)
	n, up := g.written(0, 0), g.uptime(0)
	for _, b := range breaks(
		[]string{"land.disks", "land.bridges", "land.done", "migrate.begin", "migrate.move"},
		[]string{"land.folder", "land.bridges", "land.done"},
	) {
		g.broken(points, b, "live-migrate", "migrate", "--live-migration", "--block-migration", "traveller")
		n = g.asItWas(n)
		up = g.older(0, up)
	}
	g.must(points.Fail(g.id, "migrate.done"))
	g.run("server", "migrate", "--live-migration", "--block-migration", "traveller")
	g.became("completed")
	g.goneOn(1, "m1.nano", n)
	g.older(1, up)
	if failed, err := points.Failed(g.id, "migrate.done"); err != nil || !failed {
		t.Errorf("it has failed when the guest had left: %v, %v", failed, err)
	}
	g.cloud.audit()
	g.ends(1)
}

// TestBrokenEvacuationsOfHosts: what is on the host that is down is not touched.
func TestBrokenEvacuationsOfHosts(t *testing.T) {
	g, points := breakable(t)
	n, up := g.written(0, 0), g.uptime(0)
	for _, b := range breaks(
		[]string{"build.folder", "build.disks", "build.define", "build.start", "build.done"},
		[]string{"build.disks", "build.start", "build.done"},
	) {
		g.run("compute", "service", "set", "--down", g.hosts[0], "nova-compute")
		g.broken(points, b, "evacuate", "evacuate", "traveller")
		g.run("compute", "service", "set", "--up", g.hosts[0], "nova-compute")
		if !b.cancelled {
			if status := g.show("server", "show", "traveller")["status"]; status != "ERROR" {
				t.Errorf("broken at %s: it is %v; want ERROR", b.point, status)
			}
			g.run("server", "set", "--state", "active", "--auto-approve", "traveller")
		}
		g.hosts = g.client.hosts(2)
		n = g.asItWas(n)
		up = g.older(0, up)
	}
	g.ends(0)
}
