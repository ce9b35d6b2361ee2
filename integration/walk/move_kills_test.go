//go:build moves

package walk

// What a live migration stands on is killed half-way, one after the other.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process gives the one whose command line has the words.
func (c *cloud) process(words ...string) int {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
	lines:
		for _, line := range running(c.t) {
			number, command, _ := strings.Cut(line, " ")
			for _, word := range words {
				if !strings.Contains(command, word) {
					continue lines
				}
			}
			pid, err := strconv.Atoi(number)
			if err != nil {
				c.t.Fatal(err)
			}
			return pid
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("no process is %v", words)
		}
	}
}

// daemon gives the libvirtd of a host.
func (c *cloud) daemon(host int) int {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("libvirt-%d", host+1), "run", "libvirtd.pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		c.t.Fatal(err)
	}
	return pid
}

// worker gives the process of a host.
func (c *cloud) worker(host int) int {
	c.t.Helper()
	return c.process(fmt.Sprintf("host-%d.yaml", host+1), "worker")
}

// now is where the row says that the guest is.
func (g *traveller) now() int {
	g.t.Helper()
	row := g.show("server", "show", "traveller")["OS-EXT-SRV-ATTR:host"]
	for i, host := range g.hosts {
		if row == host {
			return i
		}
	}
	g.t.Fatalf("the row says %v", row)
	return 0
}

// hurry ends the slowness of a guest that leaves a host, once libvirtd is there to
// be told.
func (g *traveller) hurry(host int) {
	g.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		out, err := exec.Command("virsh", "--connect", g.cloud.Libvirt[host], "migrate-setspeed", g.domain(), "1000").CombinedOutput()
		if err == nil || strings.Contains(string(out), "failed to get domain") { // it has left
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("virsh migrate-setspeed: %v: %s", err, out)
		}
	}
}

// counts asks the guest for its records: on disk and in memory are the same, but
// for one that it writes between the two looks.
func (g *traveller) counts(host int) (onDisk int) {
	g.t.Helper()
	said := strings.Fields(g.says(host, "records", "records: ")) // disk N memory M
	if len(said) != 4 {
		g.t.Fatalf("the guest said %v", said)
	}
	onDisk, err1 := strconv.Atoi(said[1])
	inMemory, err2 := strconv.Atoi(said[3])
	if err1 != nil || err2 != nil || onDisk-inMemory < -1 || onDisk-inMemory > 1 {
		g.t.Errorf("the guest has the records %v", said)
	}
	return onDisk
}

// TestMigrationKillsOfHosts: whatever is killed half-way, the guest runs on exactly
// one host, with all that it has written; the row says which, and the migration
// whether it went.
func TestMigrationKillsOfHosts(t *testing.T) {
	c, g := newTraveller(t)
	up, host := g.uptime(0), 0
	for _, victim := range []struct {
		name string
		pid  func(from, to int) int
	}{
		{"the source's worker", func(from, _ int) int { return c.worker(from) }},
		{"the target's worker", func(_, to int) int { return c.worker(to) }},
		{"the source's libvirtd", func(from, _ int) int { return c.daemon(from) }},
		{"the target's libvirtd", func(_, to int) int { return c.daemon(to) }},
		{"the control worker", func(_, _ int) int { return c.process("holdfast.yaml", "--role", "control") }},
		{"Temporal", func(_, _ int) int { return c.process("holdfast-temporal") }},
	} {
		from, to := host, 1-host
		g.leave(from, 2)
		if err := syscall.Kill(victim.pid(from, to), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		g.hurry(from)
		g.becomes("traveller", "ACTIVE")
		took := time.Since(began)
		c.audit()
		host = g.now()
		g.on(host)
		status := fmt.Sprint(g.list("server", "migration", "list", "--server", "traveller")[0]["Status"])
		if (host == to) != (status == "completed") {
			t.Errorf("%s: the guest is on host %d of %d and %d, its migration %s", victim.name, host, from, to, status)
		}
		up = g.older(host, up)
		t.Logf("killed %s: the migration %s after %.0f s, %d records", victim.name, status, took.Seconds(), g.counts(host))
	}
	g.run("server", "stop", "traveller")
	g.becomes("traveller", "SHUTOFF")
	g.whole(host)
	g.run("server", "delete", "--wait", "traveller")
	c.clean()
	c.interrupt()
}
