package compute_test

import (
	"context"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/openstack"
)

// flavored gives the servers' flavor these extra specs.
func (c *cloud) flavored(specs string) {
	c.t.Helper()
	c.query(`UPDATE compute.flavors SET extra_specs = $1::jsonb WHERE id = '1' RETURNING id`, specs)
}

func TestTopology(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	plain := c.create("alice", "plain")
	c.flavored(`{"hw:cpu_policy": "dedicated", "hw:mem_page_size": "2048"}`)
	id := c.create("alice", "pinned")
	ask := func(token, version, id string, status int, want string) step {
		return step{token, version, "GET", "/servers/" + id + "/topology", "", status, want}
	}
	c.play(
		ask("alice", "2.77", plain, 404, ""),
		ask("alice", "2.78", plain, 200, `{"nodes": [], "pagesize_kb": null}`),
		ask("bob", "2.78", plain, 404, notFound("Instance "+plain+" could not be found.")),
		ask("alice", "2.78", id, 200, `{"nodes": [{"vcpu_set": [0], "siblings": [], "memory_mb": 512}], "pagesize_kb": 2048}`),
		ask("root", "2.78", id, 200, `{"nodes": [{"vcpu_set": [0], "siblings": [], "memory_mb": 512, "host_node": 0, "cpu_pinning": {}}], "pagesize_kb": 2048}`),
	)
	c.settle(id, "active")
	c.query(`INSERT INTO compute.allocations (consumer_id, server_id, host_id, operation_id, vcpus, memory_mb, disk_gb, numa)
		SELECT id, id, host_id, 'op', 0, 0, 0, $2 FROM compute.servers WHERE id = $1 RETURNING server_id::text`, id,
		numa.Placement{Cells: []numa.Placed{{Host: 3, CPUs: numa.CPUs{0}, Pinned: map[int]int{0: 9}, MemoryMB: 512, PageKB: 2048}}})
	c.play(
		ask("alice", "2.78", id, 200, `{"nodes": [{"vcpu_set": [0], "siblings": [], "memory_mb": 512}], "pagesize_kb": 2048}`),
		ask("root", "2.78", id, 200, `{"nodes": [{"vcpu_set": [0], "siblings": [], "memory_mb": 512, "host_node": 3, "cpu_pinning": {"0": 9}}], "pagesize_kb": 2048}`),
	)
}

// What a flavor can't have is refused before anything is made, and a rebuild whose
// image asks for other cells.
func TestCellsAreCheckedAtTheRequest(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Neighbours = onCells{} })
	c.addHost()
	const (
		asymmetric = "Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes. Explicit assignment of CPUs and memory to nodes is required"
		conflicts  = "An instance's NUMA topology cannot be changed as part of a rebuild. The image provided is invalid for this instance."
	)
	id := c.create("alice", "web")
	c.settle(id, "active")
	action := func(body string, status int, want string) step {
		return step{"alice+", "2.1", "POST", "/servers/" + id + "/action", body, status, want}
	}
	c.play(
		step{"root", "2.1", "POST", "/flavors", `{"flavor": {"id": "2", "name": "m2", "vcpus": 2, "ram": 512, "disk": 1}}`, 200, ""},
		step{"root", "2.1", "POST", "/flavors/2/os-extra_specs", `{"extra_specs": {"hw:numa_nodes": "3"}}`, 200, ""},
		step{"alice", "2.1", "POST", "/servers", `{"server": {"name": "x", "flavorRef": "2", "imageRef": "` + image + `"}}`, 400, invalid(asymmetric)},
		action(`{"resize": {"flavorRef": "2"}}`, 400, invalid(asymmetric)),
		step{"root", "2.1", "POST", "/flavors", `{"flavor": {"id": "3", "name": "m3", "vcpus": 2, "ram": 128, "disk": 1}}`, 200, ""},
		step{"root", "2.1", "POST", "/flavors/3/os-extra_specs", `{"extra_specs": {"hw:numa_nodes": "3"}}`, 200, ""},
		action(`{"resize": {"flavorRef": "3"}}`, 400, invalid("Flavor's memory is too small for requested image.")), // before its cells
		step{"root", "2.1", "PUT", "/flavors/2/os-extra_specs/hw:numa_nodes", `{"hw:numa_nodes": "1"}`, 200, ""},
		step{"root", "2.1", "POST", "/flavors/2/os-extra_specs", `{"extra_specs": {"pci_passthrough:alias": "gpu:1"}}`, 200, ""},
		step{"alice", "2.1", "POST", "/servers", `{"server": {"name": "x", "flavorRef": "2", "imageRef": "` + image + `"}}`, 400, invalid("PCI alias gpu is not defined")},
		action(`{"resize": {"flavorRef": "2"}}`, 400, invalid("PCI alias gpu is not defined")),
		action(`{"rebuild": {"imageRef": "`+newer+`"}}`, 400, invalid(conflicts)),
		action(`{"rebuild": {"imageRef": "`+image+`"}}`, 202, ""),
	)
}

// onCells has an image that asks for a cell.
type onCells struct{ neighbour }

func (onCells) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	found := &openstack.Image{ID: id, Status: "active", MinRAMMB: 256, Properties: map[string]string{}}
	if id == newer {
		found.Properties["hw_numa_nodes"] = "1"
	}
	return found, nil
}
