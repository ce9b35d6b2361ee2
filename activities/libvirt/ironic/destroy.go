package ironic

// Destroy: the node is nobody's.

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
)

// patience is how many looks a node may take to be given up by its instance, before
// another attempt asks anew (ironic/api_max_retries).
const patience = 60

// left are the states of a node whose instance is gone, in which it may still have been
// the server's: its disks are wiped in the service's own time, or were never written.
var left = map[nodes.ProvisionState]bool{"": true, nodes.Cleaning: true, nodes.CleanWait: true, nodes.CleanFail: true, nodes.CleanHold: true}

// Destroy undeploys the node. One that was never asked to be deployed is only let go of.
func (d *Driver) Destroy(ctx context.Context, serverID string, confirm libvirt.Confirm) error {
	n, err := d.guest(ctx, serverID)
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	if n.ProvisionState == string(nodes.Available) {
		return d.letGo(ctx)
	}
	return d.undeploy(ctx, serverID)
}

// undeploy asks until the service does it: a node that is being deployed can't be had back
// at every moment. Its ports and what it was told of the instance go with that.
func (d *Driver) undeploy(ctx context.Context, serverID string) error {
	var refused error
	looks := 0
	_, err := d.follow(ctx, func(n *nodes.Node) (bool, error) {
		state := nodes.ProvisionState(n.ProvisionState)
		if d.serverOf(n) != serverID || left[state] || state == nodes.Available {
			return true, nil
		}
		if looks++; looks > patience {
			return false, faults.Wrap(refused, faults.Unavailable, "InstanceTerminationFailure", "Error destroying the instance on node %s. Provision state still '%s'.", d.id, state)
		}
		if state != nodes.Deleting {
			refused = d.provision(ctx, nodes.ProvisionStateOpts{Target: nodes.TargetDeleted})
		}
		return false, nil
	})
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}

// letGo takes the ports off a node and makes it nobody's.
func (d *Driver) letGo(ctx context.Context) error {
	vifs, err := d.vifs(ctx)
	if err != nil {
		return err
	}
	for _, vif := range vifs {
		if err := d.unwire(ctx, vif); err != nil {
			return err
		}
	}
	return d.patch(ctx, nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/instance_uuid"},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info", Value: map[string]any{}})
}
