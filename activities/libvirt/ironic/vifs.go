package ironic

// Ports: virtual interfaces that the node's own ports bear.

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// vifs are those that the node bears.
func (d *Driver) vifs(ctx context.Context) ([]string, error) {
	client, err := d.service.client(ctx)
	if err != nil {
		return nil, err
	}
	all, err := nodes.ListVirtualInterfaces(ctx, client, d.id).Extract()
	if err != nil {
		return nil, answered(err)
	}
	ids := make([]string, len(all))
	for i, vif := range all {
		ids[i] = vif.ID
	}
	return ids, nil
}

// wire has the node bear the ports that it doesn't yet.
func (d *Driver) wire(ctx context.Context, ports []steps.Port) error {
	if len(ports) == 0 {
		return nil
	}
	has, err := d.vifs(ctx)
	if err != nil {
		return err
	}
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	for _, p := range ports {
		if slices.Contains(has, p.ID) {
			continue
		}
		err := nodes.AttachVirtualInterface(ctx, client, d.id, nodes.VirtualInterfaceOpts{ID: p.ID}).ExtractErr()
		if err == nil {
			continue
		}
		err = answered(err)
		if f := faults.As(err); f.Kind == faults.Invalid {
			return faults.Wrap(err, faults.NoCapacity, "VirtualInterfacePlugException", "Cannot attach VIF %s to the node %s due to error: %s", p.ID, d.id, f.Message)
		}
		return err
	}
	return nil
}

// unwire takes one off; one that isn't there is off.
func (d *Driver) unwire(ctx context.Context, vif string) error {
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	err = nodes.DetachVirtualInterface(ctx, client, d.id, vif).ExtractErr()
	if err == nil {
		return nil
	}
	if err = answered(err); faults.Is(err, faults.Invalid) {
		return nil
	}
	return err
}
