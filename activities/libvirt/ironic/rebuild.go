package ironic

// Rebuild: the node's image is written anew, from another one or from the same.

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/steps"
)

// What a node's instance_info says of its last rebuild: what it was for, and since when the
// node was in the state that it was asked for in.
const (
	rebuildKey = "rebuilt_for"
	sinceKey   = "rebuilt_from"
)

// PrepareImage does nothing: the service gets what it writes.
func (d *Driver) PrepareImage(context.Context, steps.ServerSpec) error { return nil }

// CacheImage does nothing: a node keeps no images.
func (d *Driver) CacheImage(context.Context, string) error { return nil }

// Rebuild writes the node's disk anew. One that was noted has begun if the node has been in
// another state since.
func (d *Driver) Rebuild(ctx context.Context, in steps.RebuildIn, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	id := in.Spec.ServerID
	n, err := d.guest(ctx, id)
	if err != nil {
		return libvirt.Guest{}, err
	}
	since := n.ProvisionUpdatedAt.String()
	if n.InstanceInfo[rebuildKey] != mark || n.InstanceInfo[sinceKey] == since {
		if err := d.renew(ctx, n, in, map[string]any{rebuildKey: mark, sinceKey: since}, confirm); err != nil {
			return libvirt.Guest{}, err
		}
	}
	g, err := d.active(ctx, id)
	if err != nil || !in.Off {
		return g, err
	}
	return d.Power(ctx, id, steps.PowerForceStop, mark, confirm)
}

// renew asks for it.
func (d *Driver) renew(ctx context.Context, n *nodes.Node, in steps.RebuildIn, noted map[string]any, confirm libvirt.Confirm) error {
	if err := confirm(); err != nil {
		return err
	}
	noted["preserve_ephemeral"] = preserved(in.KeepEphemeral)
	if err := d.describe(ctx, n, in.Spec, noted); err != nil {
		return err
	}
	drive, err := d.configDrive(ctx, in.Spec)
	if err != nil {
		return err
	}
	return d.provision(ctx, nodes.ProvisionStateOpts{Target: nodes.TargetRebuild, ConfigDrive: drive})
}

// preserved is a truth in the original's spelling.
func preserved(keep bool) string {
	if keep {
		return "True"
	}
	return "False"
}
