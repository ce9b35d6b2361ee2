package cloud

// Hosts in two processes, and what one has of a server.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// OtherHosts is the process of the hosts beside those of Host (Options.Others).
const OtherHosts Name = "other hosts"

// names are our own processes, in the order in which they start.
func (c *Cloud) names() []Name {
	all := []Name{API, Control, Host}
	if c.others > 0 {
		all = append(all, OtherHosts)
	}
	for _, name := range []Name{Conductor, OtherConductor, Fleet} {
		if c.processes[name] != nil {
			all = append(all, name)
		}
	}
	return all
}

// otherHosts describes their process.
func (c *Cloud) otherHosts() {
	c.t.Helper()
	c.processes[OtherHosts] = c.another(OtherHosts, "host", map[string]any{"host.name": "other"}, "worker", "--role", "host", "--hosts", fmt.Sprint(c.others))
}

// HostNames are those of the hosts of a process, of which there are several.
func (c *Cloud) HostNames(process Name) (names []string) {
	prefix, count := "sim", c.hosts
	if process == OtherHosts {
		prefix, count = "other", c.others
	}
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%d", prefix, i+1))
	}
	return names
}

// Fail has the hypervisors of a process's hosts fail at every sub-step that is
// named, as those do that nobody answers for; without a name they are well again.
func (c *Cloud) Fail(process Name, steps ...string) {
	c.t.Helper()
	var fail string
	for _, step := range steps {
		fail += step + "=unavailable,"
	}
	for _, name := range c.HostNames(process) {
		c.order(name, map[string]string{"fail": fail})
	}
}

// order tells the simulated driver of a host, "" for the only one, what is to happen.
func (c *Cloud) order(host string, rules map[string]string) {
	c.t.Helper()
	dir := filepath.Join(c.dir, "hosts", host)
	text, err := json.Marshal(rules)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "simulated.json"), text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// Home is the host that a server's row names.
func (c *Cloud) Home(ctx context.Context, server string) (host string, err error) {
	err = c.DB.Pool.QueryRow(ctx, `SELECT h.name FROM compute.servers s JOIN compute.hosts h ON h.id = s.host_id WHERE s.id = $1`, server).Scan(&host)
	return host, err
}

// GuestOn are the hosts whose disks have something of a server.
func (c *Cloud) GuestOn(server string) (hosts []string) {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, "hosts", "*", "guests", server))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, guest := range found {
		hosts = append(hosts, filepath.Base(filepath.Dir(filepath.Dir(guest))))
	}
	return slices.Sorted(slices.Values(hosts))
}

// GuestDir is where a host has what it has of a server.
func (c *Cloud) GuestDir(host, server string) string {
	return filepath.Join(c.dir, "hosts", host, "guests", server)
}
