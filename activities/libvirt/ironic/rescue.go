package ironic

// Rescue: the node runs the service's own ramdisk for a while, whatever image was named.

import (
	"context"
	"encoding/json"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Rescue has the node run its rescue ramdisk, into which the password lets that the server
// was given for it. What an earlier call has asked for is waited for.
func (d *Driver) Rescue(ctx context.Context, serverID string, _ steps.Rescue, confirm libvirt.Confirm) (libvirt.Guest, error) {
	n, err := d.guest(ctx, serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if n.ProvisionState == string(nodes.Rescue) {
		return guestOf(n), nil
	}
	password, err := d.password(ctx, serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if err := confirm(); err != nil {
		return libvirt.Guest{}, err
	}
	ask := nodes.ProvisionStateOpts{Target: nodes.TargetRescue, RescuePassword: password}
	if state := nodes.ProvisionState(n.ProvisionState); state == nodes.Rescuing || state == nodes.RescueWait {
		ask.Target = "" // it is under way
	}
	if err := d.states(ctx, serverID, ask, nodes.Rescue, nodes.RescueFail, "InstanceRescueFailure", "Failed to move instance %s to rescue mode"); err != nil {
		return libvirt.Guest{}, err
	}
	if n, err = d.settled(ctx, serverID); err != nil {
		return libvirt.Guest{}, err
	}
	return guestOf(n), nil
}

// unrescue has the node run its own disk again; one that runs it already is left alone.
func (d *Driver) unrescue(ctx context.Context, n *nodes.Node, serverID string) error {
	ask := nodes.ProvisionStateOpts{Target: nodes.TargetUnrescue}
	switch nodes.ProvisionState(n.ProvisionState) {
	case nodes.Active:
		return nil
	case nodes.Unrescuing:
		ask.Target = "" // it is under way
	}
	return d.states(ctx, serverID, ask, nodes.Active, nodes.UnrescueFail, "InstanceUnRescueFailure", "Failed to unrescue instance %s")
}

// password is the one that the server's config drive has now.
func (d *Driver) password(ctx context.Context, serverID string) (string, error) {
	drive, err := d.servers.ConfigDrive(ctx, serverID)
	if err != nil {
		return "", err
	}
	var told struct {
		Password string `json:"admin_pass"`
	}
	if err := json.Unmarshal(drive.Files["openstack/latest/meta_data.json"], &told); err != nil || told.Password == "" {
		return "", faults.Wrap(err, faults.Internal, "NoPassword", "server %s has no password to be rescued with", serverID)
	}
	return told.Password, nil
}
