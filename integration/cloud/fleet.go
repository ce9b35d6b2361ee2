package cloud

// Nodes as hosts: the worker that serves them, and the servers that are whole machines.

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Fleet is the process of the hosts that are nodes (Options.Fleet).
const Fleet Name = "fleet"

// MetalFlavor is of servers that are a machine each, of those that have MetalClass; they
// have config drives.
const (
	MetalFlavor = "metal"
	MetalClass  = "metal"
)

// fleet describes its process.
func (c *Cloud) fleet() {
	c.t.Helper()
	c.processes[Fleet] = c.another(Fleet, "host", map[string]any{"host.driver": compute.DriverIronic, "host.state_dir": filepath.Join(c.dir, "fleet")}, "worker", "--role", "host")
}

// seedMetal makes the flavor.
func (c *Cloud) seedMetal() {
	c.t.Helper()
	flavor := compute.Flavor{ID: MetalFlavor, Name: MetalFlavor, VCPUs: 1, MemoryMB: 128, RootGB: 1, RXTXFactor: 1, Public: true, ExtraSpecs: map[string]string{
		"resources:CUSTOM_METAL": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}}
	err := c.DB.InTx(c.t.Context(), func(tx store.Tx) error { return compute.UpsertFlavor(c.t.Context(), tx, &flavor) })
	if err != nil {
		c.t.Fatal(err)
	}
}

// AwaitFleet waits until so many nodes are hosts.
func (c *Cloud) AwaitFleet(nodes int) {
	c.t.Helper()
	c.Eventually("all nodes are hosts", Patience, func(ctx context.Context) error {
		var known int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM compute.hosts WHERE driver = $1`, compute.DriverIronic).Scan(&known)
		if err == nil && known < nodes {
			err = fmt.Errorf("%d of %d are", known, nodes)
		}
		return err
	})
}

// Nodes lists all nodes, in the order of their machines.
func (c *Cloud) Nodes(ctx context.Context) ([]Node, error) {
	var list struct{ Nodes []Node }
	err := c.Baremetal(ctx, http.MethodGet, "/nodes/detail?sort_key=id", nil, &list)
	return list.Nodes, err
}

// VIFs are the ports that a node bears.
func (c *Cloud) VIFs(ctx context.Context, node string) (ids []string, err error) {
	var list struct{ VIFs []struct{ ID string } }
	err = c.Baremetal(ctx, http.MethodGet, "/nodes/"+node+"/vifs", nil, &list)
	for _, vif := range list.VIFs {
		ids = append(ids, vif.ID)
	}
	return ids, err
}
