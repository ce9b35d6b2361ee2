//go:build moves

package walk

// Live migration between two real hosts, with the real client.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// traveller is a guest that writes numbers and moves between the cloud's hosts.
type traveller struct {
	guest
	hosts []string
}

// newTraveller starts a cloud of two hosts and a guest on the first, which has
// written by then.
func newTraveller(t *testing.T) (*cloud, *traveller) {
	t.Helper()
	c := newCloud(t, "--hosts", "2")
	return c, c.traveller()
}

// traveller starts the cloud and the guest.
func (c *cloud) traveller() *traveller {
	t := c.t
	t.Helper()
	c.start()
	g := &traveller{guest: guest{client: c.as(t, "admin", newest), name: "traveller"}}
	g.hosts = g.client.hosts(2)
	g.begins()
	return g
}

// begins makes the guest, on the first host, and waits until it has written.
func (g *traveller) begins() {
	g.t.Helper()
	made := g.show("server", "create", "--image", "holdfast-test", "--flavor", "m1.nano", "--network", "private", "--host", g.hosts[0],
		"--user-data", g.file("user-data", records), "traveller")
	g.id = made["id"].(string)
	g.becomes("traveller", "ACTIVE")
	g.console("traveller", "record: 10\n")
}

// uptime is how long the guest has run, in seconds.
func (g *traveller) uptime(host int) float64 {
	g.t.Helper()
	up, err := strconv.ParseFloat(g.says(host, "uptime", "uptime: "), 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return up
}

// older says that the guest has not booted since it was up for as long, and gives
// how long it has been up now.
func (g *traveller) older(host int, up float64) float64 {
	g.t.Helper()
	now := g.uptime(host)
	if now < up {
		g.t.Errorf("on host %d the guest has booted anew: uptime %.1f s, and %.1f s", host, up, now)
	}
	return now
}

// operation is one on the guest.
type operation struct {
	ID, State, Message string
	Created            time.Time  `json:"created_at"`
	Finished           *time.Time `json:"finished_at"`
}

// verb is what it does.
func (o operation) verb() string { return strings.Split(o.ID, "/")[2] }

// asks puts a question about operations to the command line.
func (g *traveller) asks(into any, args ...string) {
	g.t.Helper()
	out, err := exec.Command(os.Getenv(binaryKey), append([]string{"--config", g.cloud.Config, "operations"}, args...)...).Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		g.t.Fatalf("holdfast operations %v: %v", args, err)
	}
}

// operations are those on the guest, the newest first.
func (g *traveller) operations() (all []operation) {
	g.t.Helper()
	g.asks(&all, "list", "--json")
	return slices.DeleteFunc(all, func(o operation) bool { return !strings.HasPrefix(o.ID, "server/"+g.id+"/") })
}

// took says how long the operations on the guest have taken.
func (g *traveller) took() {
	g.t.Helper()
	all := g.operations()
	slices.Reverse(all)
	for _, o := range all {
		if o.Finished != nil {
			g.t.Logf("took %.1f s: %s, %s", o.Finished.Sub(o.Created).Seconds(), o.verb(), o.State)
		}
	}
}

// told gives what the operations on the guest say of how long it stood still.
func (g *traveller) told() (downtimes []string) {
	g.t.Helper()
	for _, o := range g.operations() {
		if o.verb() != "live-migrate" {
			continue
		}
		var story struct{ Events []struct{ Message string } }
		g.asks(&story, "show", o.ID, "--json")
		for _, e := range story.Events {
			if strings.Contains(e.Message, "stood still for") {
				downtimes = append(downtimes, e.Message)
			}
		}
	}
	return downtimes
}

// on says that the guest runs on one host only, and that the row says which.
func (g *traveller) on(host int) {
	g.t.Helper()
	now := g.show("server", "show", "traveller")
	if now["OS-EXT-SRV-ATTR:host"] != g.hosts[host] {
		g.t.Errorf("the row says %v, want %s", now["OS-EXT-SRV-ATTR:host"], g.hosts[host])
	}
	for i := range g.hosts {
		if got := len(g.cloud.domainsOn(i, "--all")); got != 1-min(1, max(i-host, host-i)) {
			g.t.Errorf("host %d has %d guests", i, got)
		}
	}
}

// leave starts a live migration that is slowed down to some MiB per second, and
// gives its number once it runs.
func (g *traveller) leave(host, mib int) string {
	g.t.Helper()
	g.virsh(host, "migrate-setspeed", g.domain(), strconv.Itoa(mib))
	g.run("server", "migrate", "--live-migration", "--block-migration", "traveller")
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		for _, row := range g.list("server", "migration", "list", "--server", "traveller") {
			if row["Status"] == "running" {
				return fmt.Sprint(row["Id"])
			}
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("the migration never ran: %v", g.list("server", "migration", "list", "--server", "traveller"))
		}
	}
}

// became waits until the guest is idle, and gives its newest migration's status.
func (g *traveller) became(status string) {
	g.t.Helper()
	g.becomes("traveller", "ACTIVE")
	rows := g.list("server", "migration", "list", "--server", "traveller")
	if len(rows) == 0 || rows[0]["Status"] != status {
		g.t.Errorf("the migrations are %v; want the newest %s", rows, status)
	}
}

// whole reads the numbers on the disk of a guest that is off: none is missing, and
// none is there twice.
func (g *traveller) whole(host int) {
	g.t.Helper()
	raw := filepath.Join(g.t.TempDir(), "raw")
	disks, err := filepath.Glob(filepath.Join(g.cloud.dir, "hosts", g.hosts[host], "guests", g.id+"*", "disk"))
	if err != nil || len(disks) != 1 {
		g.t.Fatalf("the guest has the disks %v, %v; want one", disks, err)
	}
	disk := disks[0]
	if out, err := exec.Command("qemu-img", "convert", "-O", "raw", disk, raw).CombinedOutput(); err != nil {
		g.t.Fatalf("qemu-img: %v: %s", err, out)
	}
	file, err := os.Open(raw)
	if err != nil {
		g.t.Fatal(err)
	}
	defer file.Close()
	var start [4]byte
	const second, sector = 446 + 16 + 8, 512 // the partition with the data
	if _, err := file.ReadAt(start[:], second); err != nil {
		g.t.Fatal(err)
	}
	offset := int64(binary.LittleEndian.Uint32(start[:])) * sector
	out, err := exec.Command("debugfs", "-R", "cat /records", fmt.Sprintf("%s?offset=%d", raw, offset)).Output()
	if err != nil {
		g.t.Fatalf("debugfs: %v", err)
	}
	lines := bytes.Fields(out)
	for i, line := range lines {
		if string(line) != strconv.Itoa(i+1) {
			g.t.Fatalf("record %d is %s", i+1, line)
		}
	}
	g.t.Logf("%d records, none missing, none twice", len(lines))
}

// TestLiveMigrationOfHosts: a guest that writes to disk and memory goes to the
// other host with its disks, stays where it is when that is aborted, and comes
// back when that is forced to complete. Its volume, which no host has, goes on to
// be where the guest is.
func TestLiveMigrationOfHosts(t *testing.T) {
	c, g := newTraveller(t)
	g.on(0)
	g.pack()
	g.uses(0, 1)
	up, began := g.uptime(0), time.Now()

	g.run("server", "migrate", "--live-migration", "--block-migration", "--wait", "traveller")
	g.became("completed")
	g.on(1)
	g.uses(1, 2)
	t.Logf("the client waited for %.1f s", time.Since(began).Seconds())
	now, passed := g.older(1, up), time.Since(began).Seconds()
	t.Logf("uptime %.1f s, and %.1f s after %.1f s", up, now, passed)

	number := g.leave(1, 1)
	g.run("server", "migration", "abort", "traveller", number)
	g.became("cancelled")
	g.on(1)
	g.uses(1, 3)

	number = g.leave(1, 4)
	g.run("server", "migration", "force", "complete", "traveller", number)
	g.became("completed")
	g.on(0)
	g.older(0, now)
	g.counts(0)
	g.uses(0, 4)
	stood := g.told()
	if len(stood) != 2 { // once there, and once back
		t.Errorf("of two moves was told: %q", stood)
	}
	for _, text := range stood {
		t.Logf("downtime: %s", text)
	}
	g.run("server", "stop", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.whole(0)
	g.took()
	g.run("server", "delete", "--wait", "traveller")
	g.run("volume", "delete", "luggage")
	c.clean()
	c.interrupt()
}
