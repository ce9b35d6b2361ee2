package cinder

// The connector: what Cinder has to know of a host that reaches a volume.

import (
	"context"
	"encoding/json"
	"maps"
	"net"

	"holdfast.dev/internal/store/compute"
)

// connector is what the host says of itself (member "connector" of its
// inventory's details), on top of what every host is.
func (a *Activities) connector(ctx context.Context, hostID string) (map[string]any, error) {
	h, err := compute.GetHost(ctx, a.db.Pool, hostID)
	if err != nil {
		return nil, err
	}
	c := map[string]any{"host": h.Name, "os_type": "linux", "platform": "x86_64", "multipath": false}
	if address, _, err := net.SplitHostPort(h.LinkAddress); err == nil {
		c["ip"] = address
	}
	var said struct {
		Connector map[string]any `json:"connector"`
	}
	// Details of another shape say nothing of connectors.
	if json.Unmarshal(h.Inventory, &said) == nil {
		maps.Copy(c, said.Connector)
	}
	return c, nil
}
