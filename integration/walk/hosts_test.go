//go:build moves

package walk

// One machine made into several hosts, each with a libvirtd.

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/image"
)

// hosts waits until as many are up, and gives their names.
func (o *client) hosts(count int) (names []string) {
	o.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		names = nil
		for _, row := range o.list("compute", "service", "list", "--service", "nova-compute") {
			if row["State"] == "up" {
				names = append(names, row["Host"].(string))
			}
		}
		if len(names) == count {
			slices.Sort(names)
			return names
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("the hosts %v are up, want %d", names, count)
		}
	}
}

// TestTwoHosts: a guest on each host has the network of the one cloud, and goes
// on over an interrupt and over a kill of the cloud.
func TestTwoHosts(t *testing.T) {
	c := newCloud(t, "--hosts", "2")
	c.start()
	if len(c.Libvirt) != 2 {
		t.Fatalf("libvirt is at %v, want two", c.Libvirt)
	}
	admin := c.as(t, "admin", newest)
	hosts := admin.hosts(2)
	tried := c.emulatorsTried()
	data := admin.file("user-data", records)
	for _, host := range hosts {
		admin.run("server", "create", "--image", "holdfast-test", "--flavor", "m1.nano", "--network", "private", "--host", host,
			"--user-data", data, "on-"+host)
	}
	for _, host := range hosts {
		admin.becomes("on-"+host, "ACTIVE")
		if got := admin.show("server", "show", "on-"+host)["OS-EXT-SRV-ATTR:host"]; got != host {
			t.Errorf("the server is on %v, want %s", got, host)
		}
		log := admin.console("on-"+host, "record: 10\n")
		for _, words := range []string{"address: eth0 192.168.233.", "source: metadata service\n", "hostname: on-" + host} {
			if !strings.Contains(log, words) {
				t.Errorf("the guest on %s does not say %q:\n%s", host, words, log)
			}
		}
	}
	uuids := map[string]bool{}
	for i, uri := range c.Libvirt {
		if got := c.domainsOn(i); len(got) != 1 {
			t.Errorf("host %d has the guests %v, want one", i+1, got)
		}
		out, err := exec.Command("virsh", "--connect", uri, "capabilities").Output()
		_, rest, found := strings.Cut(string(out), "<uuid>")
		id, _, _ := strings.Cut(rest, "</uuid>")
		if err != nil || !found || uuids[id] {
			t.Errorf("host %d is %q, %v; want a UUID of its own", i+1, id, err)
		}
		uuids[id] = true
	}
	if again := c.emulatorsTried(); !maps.Equal(again, tried) {
		t.Errorf("a libvirtd has tried its emulators anew: %v, %v when the cloud was up", again, tried)
	}

	for _, end := range []func(){c.interrupt, c.kill} {
		end()
		c.start()
		for _, host := range hosts {
			admin.becomes("on-"+host, "ACTIVE")
			log := admin.console("on-"+host, "record: ")
			log = admin.console("on-"+host, fmt.Sprintf("record: %d\n", lastRecord(t, log)+20))
			if strings.Contains(log, image.Banner) && strings.Count(log, "ready: ") > 1 {
				t.Errorf("the guest has booted anew:\n%s", log)
			}
		}
	}
	for _, host := range hosts {
		admin.run("server", "stop", "on-"+host)
		admin.becomes("on-"+host, "SHUTOFF")
		admin.run("server", "delete", "--wait", "on-"+host)
	}
	c.clean()
	c.interrupt()
}
