package records

// Ports: what a host is told to plug, and what Neutron says of it.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// portsOf is what a host has to know of a server's ports.
func portsOf(ctx context.Context, q store.Queryer, serverID string) ([]steps.Port, error) {
	rows, err := compute.ServerPorts(ctx, q, serverID)
	if err != nil {
		return nil, err
	}
	var ports []steps.Port
	for _, row := range rows {
		if !row.Bound {
			continue
		}
		var details struct {
			Bridge string `json:"bridge_name"`
		}
		// Details of another shape are of a VIF type that has no bridge; the
		// host refuses what it can't plug.
		_ = json.Unmarshal(row.VIFDetails, &details)
		ports = append(ports, steps.Port{ID: row.PortID, MAC: row.MAC, VIFType: row.VIFType, Bridge: details.Bridge, MTU: row.MTU,
			Network: row.NetworkID, Ours: row.Ours})
	}
	return ports, nil
}

// Plugged is idempotent by the rows: a port that was plugged stays so, and the
// events of an operation can be taken again. Errors: Superseded.
func (a *Activities) Plugged(ctx context.Context, in steps.PluggedIn) (out steps.PluggedOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		out = steps.PluggedOut{}
		op, err := a.engine.CheckFence(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		events, err := a.engine.Take(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		failed := map[string]bool{}
		for _, e := range events {
			if e.Name != engine.NetworkVIFPlugged {
				continue
			}
			var said servers.ExternalEvent
			if err := json.Unmarshal(e.Payload, &said); err != nil {
				return err
			}
			failed[said.Tag] = said.Failed()
			if said.Failed() {
				continue
			}
			if err := compute.PlugPort(ctx, tx, op.ResourceID, said.Tag); err != nil {
				return err
			}
		}
		rows, err := compute.ServerPorts(ctx, tx, op.ResourceID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			switch {
			case !row.Bound || row.Active:
			case failed[row.PortID]:
				out.Failed = append(out.Failed, row.PortID)
			default:
				out.Waiting = append(out.Waiting, row.PortID)
			}
		}
		return nil
	})
	return out, err
}
