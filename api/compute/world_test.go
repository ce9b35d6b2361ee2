package compute_test

// A world in which every field has something to show.

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	computestore "holdfast.dev/internal/store/compute"
)

// world is a cloud and what the words in requests stand for.
type world struct {
	*cloud
	words  map[string]string
	unique int
}

// neighbour is Neutron as far as servers' groups go; nothing else is asked.
type neighbour struct{ compute.Neighbours }

func (neighbour) ServerSecurityGroups(_ context.Context, _ identity.Identity, ids ...string) (map[string][]openstack.SecurityGroup, error) {
	all := map[string][]openstack.SecurityGroup{}
	for _, id := range ids {
		all[id] = []openstack.SecurityGroup{{ID: "4e469db4-3b60-43c7-8dfa-2c60e2f27075", Name: "default", Description: "default", ProjectID: "a11ce"}}
	}
	return all, nil
}

func (neighbour) ServerAddresses(_ context.Context, _ identity.Identity, ids ...string) ([]computestore.PortAddresses, error) {
	var all []computestore.PortAddresses
	for _, id := range ids {
		all = append(all, computestore.PortAddresses{PortID: "p", ServerID: id, MAC: "fa:16:3e:00:00:08", FixedIPs: []computestore.FixedIP{{SubnetID: "s", Address: "192.0.2.8"}},
			FloatingIPs: []computestore.FloatingIP{{FixedAddress: "192.0.2.8", Address: "203.0.113.8"}}})
	}
	return all, nil
}

// images are what neighbours have made of the requests of all tests, by id.
var images sync.Map

// CreateImage is Glance; it refuses one that is called so.
func (neighbour) CreateImage(_ context.Context, _ identity.Identity, document map[string]any, member string) (string, error) {
	if document["name"] == "refused" {
		return "", faults.New(faults.Forbidden, "ImageRefused", "The image service refuses the image.")
	}
	id := document["id"].(string)
	if member != "" {
		document["shared with"] = member
	}
	images.Store(id, document)
	return "http://glance/images/" + id, nil
}

func (neighbour) DeleteImage(_ context.Context, _ identity.Identity, id string) error {
	images.Delete(id)
	return nil
}

// catalogued lets callers that only look have a catalog.
type catalogued struct{ rest.Authenticator }

func (c catalogued) Authenticate(ctx context.Context, token string) (rest.Identity, error) {
	who, err := c.Authenticator.Authenticate(ctx, strings.TrimSuffix(token, "+"))
	if strings.HasSuffix(token, "+") {
		who.Catalog = []tokens.CatalogEntry{{Type: "network"}}
	}
	return who, err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := newCloud(t)
	c.t = t
	c.addHost()
	c.addHostNamed("0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5d02", "empty-1")
	w := &world{cloud: c, words: map[string]string{"{host}": hostID, "{number}": c.query(`SELECT number::text FROM compute.hosts WHERE id = $1`, hostID)}}
	c.query(`INSERT INTO compute.quota_limits (project_id, resource, hard_limit) VALUES ('a11ce', 'instances', -1), ('a11ce', 'cores', -1), ('a11ce', 'ram', -1),
		('b0b', 'instances', -1), ('b0b', 'cores', -1), ('b0b', 'ram', -1) RETURNING resource`)
	c.query(`INSERT INTO compute.services (host, "binary") VALUES ('control-1', 'nova-scheduler') RETURNING host`)
	c.play(step{"alice", "2.2", "POST", "/os-keypairs", `{"keypair": {"name": "key"}}`, 201, ""},
		step{"alice", "2.2", "POST", "/os-keypairs", `{"keypair": {"name": "key2"}}`, 201, ""})
	status, body, header := c.ask("alice", "2.63", "POST", "/servers", `{"server": {"name": "full", "flavorRef": "1", "imageRef": "`+image+`", "networks": "none", "key_name": "key",
		"metadata": {"My Server Name": "Apache1"}, "description": "d", "trusted_image_certificates": ["c"], "tags": ["t"], "user_data": "aGVsbG8=", "config_drive": true, "accessIPv4": "192.0.2.9", "accessIPv6": "2001:db8::9",
		"availability_zone": "nova"}}`)
	if status != 202 {
		t.Fatalf("%d %v", status, body)
	}
	id := body["server"].(map[string]any)["id"].(string)
	w.words["{server}"], w.words["{request}"] = id, header.Get("X-Openstack-Request-Id")
	w.plug(id)
	c.query(`INSERT INTO engine.operation_events (operation_id, seq, step, started_at, finished_at, result, host)
		SELECT id, 1, 'guest', now(), now(), 'done', $2 FROM engine.operations WHERE resource_id = $1 RETURNING step`, id, hostID)
	w.settle(id, "active")
	_, _, header = c.ask("alice", "2.1", "POST", "/servers/"+id+"/action", `{"lock": null}`)
	w.words["{newest request}"] = header.Get("X-Openstack-Request-Id")
	_, _, _ = c.ask("alice", "2.1", "POST", "/servers/"+id+"/action", `{"unlock": null}`)
	w.move(id, "live-migration", "running")
	w.move(id, "live-migration", "error")
	w.words["{second migration}"] = c.query(`SELECT uuid::text FROM compute.migrations WHERE NOT open`)
	w.move(id, "resize", "error")
	w.move(id, "resize", "confirmed")
	w.words["{aggregate}"] = fmt.Sprint(w.made("root", "/os-aggregates", `{"aggregate": {"name": "fast"}}`, "aggregate"))
	w.words["{group}"] = fmt.Sprint(w.made("alice", "/os-server-groups", `{"server_group": {"name": "apart", "policy": "anti-affinity", "rules": {"max_server_per_host": 3}}}`, "server_group"))
	w.words["{migration}"] = c.query(`SELECT id::text FROM compute.migrations WHERE open AND server_id = $1`, id)
	c.play(step{"root", "2.1", "POST", "/flavors", `{"flavor": {"name": "private", "id": "private", "ram": 64, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": false}}`, 200, ""},
		step{"root", "2.1", "POST", "/flavors/private/action", `{"addTenantAccess": {"tenant": "a11ce"}}`, 200, ""},
		step{"root", "2.1", "POST", "/flavors/private/action", `{"addTenantAccess": {"tenant": "leaver"}}`, 200, ""},
		step{"root", "2.1", "POST", "/flavors/1/os-extra_specs", `{"extra_specs": {"hw:numa_nodes": "1"}}`, 200, ""})
	return w
}

// made is the id of something that is asked for.
func (w *world) made(token, path, body, kind string) any {
	w.t.Helper()
	status, answer, _ := w.ask(token, "2.64", "POST", path, body)
	if status != http.StatusOK {
		w.t.Fatalf("%s: %d %v", path, status, answer)
	}
	return answer[kind].(map[string]any)["id"]
}

// moving is a server of another project that goes to another host while it runs, and
// its migration.
func (w *world) moving() (id, migration string) {
	id = w.create("bob", "moving")
	w.settle(id, "active")
	w.move(id, "live-migration", "running")
	return id, w.query(`SELECT id::text FROM compute.migrations WHERE server_id = $1`, id)
}

// plug gives a server a port and volumes.
func (w *world) plug(id string) {
	w.query(`INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id, bound, network_name, mac, fixed_ips)
		VALUES ($1, 0, true, 'n', 'p', true, 'private', 'fa:16:3e:00:00:01', '[{"subnet_id": "s", "ip_address": "192.0.2.7"}]') RETURNING port_id`, id)
	w.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id)
		VALUES ($1, 1, 'volume', 'volume', '6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0003', '6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0004') RETURNING volume_id`, id)
}

// move writes a move of a server to another host.
func (c *cloud) move(id, kind, status string) {
	c.query(`INSERT INTO compute.migrations (uuid, server_id, project_id, user_id, operation_id, migration_type, status, source_host_id, source_host, dest_host, dest_address,
			old_flavor, new_flavor, old_flavor_number, new_flavor_number, old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state, updated_at)
		SELECT gen_random_uuid(), id, project_id, 'alice', 'op', $2, $3, $4, 'host-1', 'host-2', '192.0.2.2', flavor, flavor, 1, 1,
			vcpus, memory_mb, disk_gb, vcpus, memory_mb, disk_gb, 'active', now() FROM compute.servers WHERE id = $1 RETURNING uuid::text`,
		id, kind, status, hostID)
}

// fresh is a server of its own for a request that changes one.
func (w *world) fresh() string {
	id := w.create("alice", "fresh")
	w.plug(id)
	w.settle(id, "active")
	return id
}

// fill puts things into a request for 2.minor.
func (w *world) fill(text string, minor int) string {
	for word, thing := range w.words {
		text = strings.ReplaceAll(text, word, thing)
	}
	if minor >= 53 {
		return strings.ReplaceAll(text, "{id of host}", w.words["{host}"])
	}
	return strings.ReplaceAll(text, "{id of host}", w.words["{number}"])
}

// ask is cloud.ask by callers with a catalog, where they only look.
func (w *world) ask(token, version, method, path, body string) (int, map[string]any, http.Header) {
	if method == http.MethodGet || method == http.MethodPut {
		token += "+"
	}
	return w.cloud.ask(token, version, method, path, body)
}
