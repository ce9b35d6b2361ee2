package compute

// The NUMA topology of servers: what flavors and images may ask for, and
// GET /servers/{server_id}/topology, which shows what came of it.

import (
	"reflect"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/store/compute"
)

const (
	policyTopology     = "compute:server:topology:index"
	policyTopologyHost = "compute:server:topology:host:index"
)

// cellsFor reads what a server of the flavor with an image of these properties asks
// of its host's NUMA cells; nil is nothing.
func cellsFor(flavor *compute.Flavor, properties map[string]string) (*numa.Request, error) {
	return numa.Read(flavor.ExtraSpecs, properties, flavor.VCPUs, flavor.MemoryMB)
}

// canHave checks what a server of the flavor with an image of these properties asks
// of its host's cells and devices.
func (a *API) canHave(flavor *compute.Flavor, properties map[string]string) error {
	if _, err := cellsFor(flavor, properties); err != nil {
		return err
	}
	_, err := a.Aliases.Read(flavor.ExtraSpecs, properties)
	return err
}

// staysOnCells refuses a rebuild by an image that asks for other cells: the guest
// stays where it lies.
func staysOnCells(server *compute.Server, properties map[string]string) error {
	now, err := cellsFor(&server.Flavor, server.ImageProperties)
	if err != nil {
		return err
	}
	then, err := cellsFor(&server.Flavor, properties)
	if err == nil && !reflect.DeepEqual(now, then) {
		err = faults.New(faults.Invalid, "ImageNUMATopologyRebuildConflict",
			"An instance's NUMA topology cannot be changed as part of a rebuild. The image provided is invalid for this instance.")
	}
	return err
}

// showTopology shows where the guest lies, or, of one that lies nowhere at the
// moment, what it asks for.
func (a *API) showTopology(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, policyTopology)
	if err != nil {
		return nil, err
	}
	placed, _, err := compute.PlaceOf(r.Context(), a.DB.Pool, server.ID, "")
	if err != nil {
		return nil, err
	}
	if placed == nil {
		asked, err := cellsFor(&server.Flavor, server.ImageProperties)
		if err != nil {
			return nil, err
		}
		placed = asked.Unplaced()
	}
	nodes, pageKB := []map[string]any{}, any(nil)
	ofHost := r.Allows(policyTopologyHost, serverTarget(server))
	for _, c := range placed.Cells {
		node := map[string]any{"vcpu_set": c.CPUs, "siblings": []any{}, "memory_mb": c.MemoryMB}
		if ofHost {
			node["host_node"], node["cpu_pinning"] = c.Host, c.Pinned
			if c.Pinned == nil {
				node["cpu_pinning"] = map[int]int{}
			}
		}
		if c.PageKB != 0 {
			pageKB = c.PageKB
		}
		nodes = append(nodes, node)
	}
	return rest.JSON(map[string]any{"nodes": nodes, "pagesize_kb": pageKB}), nil
}
