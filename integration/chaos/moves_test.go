package chaos

// A guest goes from host to host while it runs, and something is killed half-way.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// onTheWay are the points of a live migration: half-way first, the others in the
// order in which it passes them.
var onTheWay = []string{
	"migrate.copying", "migrate.move", "migrate.done",
	"live-migrate:records.Begin", "live-migrate:placement.ClaimMove", "live-migrate:placement.ClaimMove.done",
	"depart", "land.disk", "land.done",
	"migrate.begin", "landed", "destroy.stop",
	"destroy.undefine", "live-migrate:records.Finish", "live-migrate:records.Finish.done",
}

// hypervisor are the sub-steps that fail while a hypervisor is away.
var hypervisor = []string{"depart", "land.cpu", "land.folder", "land.disk", "land.done", "migrate.begin", "migrate.copying", "migrate.move", "migrate.done",
	"landed", "destroy.stop", "destroy.disk", "destroy.undefine", "destroy.done"}

// traveller is a server that goes from one host to another and, in the next round,
// from there to here again.
type traveller struct {
	id, from, to string
	point        string
}

// Live migrations stand at points of their story in both directions between the
// hosts of two processes, while one of these is killed, which is the source of one
// half and the target of the other; the hypervisors of one fail; the control worker
// is killed, and Temporal. Each guest is on exactly one host afterwards, the row
// says which, the migration how it went, and the audit nothing.
func TestLiveMigrationKills(t *testing.T) {
	t.Parallel()
	const pairs = 3
	c := cloud.Start(t, cloud.Options{Hosts: pairs, Others: pairs, Config: map[string]any{"compute.host_down_after": "30s"}})
	var all []*traveller
	here, there := c.HostNames(cloud.Host), c.HostNames(cloud.OtherHosts)
	for i := range pairs {
		all = append(all, &traveller{from: here[i], to: there[i]}, &traveller{from: there[i], to: here[i]})
	}
	var ids []string
	for i, g := range all {
		g.id = createOn(t, c, g.from, fmt.Sprintf("traveller-%d", i), "none")
		ids = append(ids, g.id)
	}
	allAre(t, c, ids, "ACTIVE", patience)
	for name, strike := range map[string]func(meanwhile func()){
		"a host's worker": killed(c, cloud.Host),
		"a host's hypervisor": func(meanwhile func()) {
			c.Fail(cloud.Host, hypervisor...)
			meanwhile()
			time.Sleep(2 * time.Second)
			c.Fail(cloud.Host)
		},
		"the control worker": killed(c, cloud.Control),
		"Temporal":           killed(c, cloud.Temporal),
	} {
		for points := range slices.Chunk(onTheWay, pairs) {
			for i, g := range all {
				g.point = points[i/2]
				must(t, c.Points.Order(g.id, g.point))
				g.leave(t, c)
			}
			for _, g := range all {
				c.Eventually("a live migration has come to "+g.point, patience, func(context.Context) error {
					return g.stands(c)
				})
			}
			strike(func() {
				for _, id := range ids {
					must(t, c.Points.Release(id))
				}
			})
			allAre(t, c, ids, "ACTIVE", patience)
			c.Audit()
			for _, g := range all {
				g.arrived(t, c, name)
			}
			if !full {
				break
			}
		}
	}
}

// killed kills a process, lets something happen, and starts it again.
func killed(c *cloud.Cloud, name cloud.Name) func(meanwhile func()) {
	return func(meanwhile func()) {
		c.Kill(name)
		meanwhile()
		c.Restart(name)
	}
}

// createOn makes a server on a host, as an administrator in the user's project may.
func createOn(t *testing.T, c *cloud.Cloud, host, name string, networks any) string {
	t.Helper()
	var out struct{ Server cloud.Server }
	must(t, post(t.Context(), c, cloud.HelperToken, "/v2.1/servers", map[string]any{"server": map[string]any{
		"name": name, "imageRef": c.Image(), "flavorRef": cloud.Flavor, "networks": networks, "host": host,
	}}, http.StatusAccepted, &out))
	return out.Server.ID
}

// leave asks for the live migration.
func (g *traveller) leave(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	must(t, post(t.Context(), c, cloud.HelperToken, "/v2.1/servers/"+g.id+"/action",
		map[string]any{"os-migrateLive": map[string]any{"host": g.to, "block_migration": "auto"}}, http.StatusAccepted, nil))
}

// stands is nil once the migration stands at its point.
func (g *traveller) stands(c *cloud.Cloud) error {
	return here(c, g.id, g.point)(context.Background())
}

// arrived looks for the guest on the host that the row names, and on no other, and
// has it be there for the next round.
func (g *traveller) arrived(t *testing.T, c *cloud.Cloud, victim string) {
	t.Helper()
	what := fmt.Sprintf("%s lost with a guest from %s to %s at %s", victim, g.from, g.to, g.point)
	home, err := c.Home(t.Context(), g.id)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if on := c.GuestOn(g.id); len(on) != 1 || on[0] != home {
		t.Errorf("%s: the row says %s, the guest is on %v", what, home, on)
	}
	if err := trueState(t.Context(), c, g.id, false); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	var status string
	if err := c.DB.Pool.QueryRow(t.Context(), `SELECT status FROM compute.migrations WHERE server_id = $1 ORDER BY id DESC LIMIT 1`, g.id).Scan(&status); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if moved := home == g.to; moved != (status == "completed") || !moved && home != g.from {
		t.Errorf("%s: the guest is on %s, the migration %s", what, home, status)
	}
	t.Logf("%s: %s on %s", what, status, home)
	if home == g.to {
		g.from, g.to = g.to, g.from
	}
}

// post asks for something in the version of which the tests know the bodies; out is
// what is answered, if that is read.
func post(ctx context.Context, c *cloud.Cloud, token, path string, body any, want int, out any) error {
	return postAs(ctx, c, token, "2.74", path, body, want, out)
}

// postAs asks in another version.
func postAs(ctx context.Context, c *cloud.Cloud, token, version, path string, body any, want int, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Openstack-Api-Version": {"compute " + version}}
	answer, said, err := c.Ask(ctx, token, http.MethodPost, path, header, text)
	if err == nil && answer.StatusCode != want {
		err = &cloud.StatusError{Code: answer.StatusCode, Body: string(said)}
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(said, out)
}
