package ironic

// Build: the node is the server's, has its ports and its image, and runs.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Build deploys the node. The first write makes it the server's, and whoever comes second
// sees that; from then on what has been done is seen in the node's own row.
func (d *Driver) Build(ctx context.Context, spec steps.ServerSpec, confirm libvirt.Confirm) (libvirt.Guest, error) {
	if len(spec.Volumes) > 0 {
		return libvirt.Guest{}, notSupported("volumes")
	}
	n, err := d.service.look(ctx, d.id)
	if faults.Is(err, faults.NotFound) {
		return libvirt.Guest{}, d.notAvailable()
	}
	if err != nil {
		return libvirt.Guest{}, err
	}
	ours := d.serverOf(n) == spec.ServerID
	switch {
	case ours && n.ProvisionState != string(nodes.Available):
		return d.active(ctx, spec.ServerID)
	case !available(n), n.InstanceUUID != "" && !ours:
		return libvirt.Guest{}, d.notAvailable()
	}
	if err := confirm(); err != nil {
		return libvirt.Guest{}, err
	}
	if err := d.describe(ctx, n, spec, nil); err != nil {
		return libvirt.Guest{}, err
	}
	if err := d.wire(ctx, spec.Ports); err != nil {
		return libvirt.Guest{}, err
	}
	if err := d.validate(ctx); err != nil {
		return libvirt.Guest{}, err
	}
	drive, err := d.configDrive(ctx, spec)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if err := confirm(); err != nil {
		return libvirt.Guest{}, err
	}
	if err := d.provision(ctx, nodes.ProvisionStateOpts{Target: nodes.TargetActive, ConfigDrive: drive}); err != nil {
		return libvirt.Guest{}, elsewhere(err)
	}
	return d.active(ctx, spec.ServerID)
}

// notAvailable has the words of nova.exception.ComputeResourcesUnavailable.
func (d *Driver) notAvailable() error {
	return faults.New(faults.NoCapacity, "ComputeResourcesUnavailable", "Insufficient compute resources: Chosen ironic node %s is not available.", d.id)
}

// elsewhere makes of a refusal one that another node may not have.
func elsewhere(err error) error {
	if f := faults.As(err); f.Kind == faults.Invalid {
		return faults.Wrap(err, faults.NoCapacity, f.Code, "%s", f.Message)
	}
	return err
}

// describe makes the node the server's and tells it of the instance, and what is noted
// besides, in one request.
func (d *Driver) describe(ctx context.Context, n *nodes.Node, spec steps.ServerSpec, noted map[string]any) error {
	info := map[string]any{
		"image_source": spec.ImageID, "root_gb": strconv.Itoa(spec.RootGB), "swap_mb": strconv.Itoa(spec.SwapMB),
		"display_name": spec.Name, "vcpus": strconv.Itoa(spec.VCPUs), "memory_mb": strconv.Itoa(spec.MemoryMB), "local_gb": "0",
		"project_id": spec.ProjectID, "user_id": spec.UserID, "flavor_name": spec.Flavor, hostKey: d.id,
	}
	if local, ok := n.Properties["local_gb"]; ok {
		info["local_gb"] = fmt.Sprint(local)
	}
	if spec.EphemeralGB > 0 {
		info["ephemeral_gb"] = strconv.Itoa(spec.EphemeralGB)
	}
	maps.Copy(info, noted)
	capabilities, traits := asked(spec)
	if len(traits) > 0 {
		info["traits"] = traits
	}
	if len(capabilities) > 0 {
		text, err := json.Marshal(capabilities)
		if err != nil {
			return faults.Wrap(err, faults.Internal, "InvalidCapabilities", "the capabilities of server %s", spec.ServerID)
		}
		info["capabilities"] = string(text)
	}
	return d.patch(ctx, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_uuid", Value: spec.ServerID},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info", Value: info})
}

// asked are what the flavor and the image ask of a node that the service has a say in:
// capabilities, and traits that are required.
func asked(spec steps.ServerSpec) (capabilities map[string]string, traits []string) {
	capabilities = map[string]string{}
	for key, value := range spec.ExtraSpecs {
		space, name, _ := strings.Cut(key, ":")
		switch {
		case space == "capabilities":
			capabilities[name] = value
		case strings.HasPrefix(space, "trait") && value == "required":
			traits = append(traits, name)
		}
	}
	for key, value := range spec.ImageProperties {
		if trait, ok := strings.CutPrefix(key, "trait:"); ok && value == "required" {
			traits = append(traits, trait)
		}
	}
	slices.Sort(traits)
	return capabilities, slices.Compact(traits)
}

// patch changes the node's row.
func (d *Driver) patch(ctx context.Context, changes ...nodes.Patch) error {
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	_, err = nodes.Update(ctx, client, d.id, changes).Extract()
	if err != nil {
		return answered(err)
	}
	return nil
}

// validate asks the node's drivers whether it can be deployed.
func (d *Driver) validate(ctx context.Context) error {
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	said, err := nodes.Validate(ctx, client, d.id).Extract()
	if err != nil {
		return answered(err)
	}
	reason := func(v nodes.DriverValidation) string {
		if v.Result {
			return "No Error"
		}
		return v.Reason
	}
	if said.Deploy.Result && said.Power.Result && said.Storage.Result {
		return nil
	}
	return faults.New(faults.NoCapacity, "ValidationError", "Ironic node: %s failed to validate. (deploy: %s, power: %s, storage: %s)",
		d.id, reason(said.Deploy), reason(said.Power), reason(said.Storage))
}

// provision asks for a change of the node's provision state.
func (d *Driver) provision(ctx context.Context, o nodes.ProvisionStateOpts) error {
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	if err := nodes.ChangeProvisionState(ctx, client, d.id, o).ExtractErr(); err != nil {
		return answered(err)
	}
	return nil
}

// active waits for the node to be deployed.
func (d *Driver) active(ctx context.Context, serverID string) (libvirt.Guest, error) {
	n, err := d.follow(ctx, func(n *nodes.Node) (bool, error) {
		switch state := nodes.ProvisionState(n.ProvisionState); {
		case d.serverOf(n) != serverID, n.TargetProvisionState == string(nodes.Deleted), n.TargetProvisionState == string(nodes.Available), state == nodes.Available:
			return false, faults.New(faults.NoCapacity, "InstanceNotFound", "Instance %s could not be found.", serverID)
		case state == nodes.DeployFail:
			return false, faults.New(faults.NoCapacity, "InstanceDeployFailure", "Failed to provision instance %s: %s", serverID, n.LastError)
		default:
			return state == nodes.Active, nil
		}
	})
	if err != nil {
		return libvirt.Guest{}, err
	}
	return guestOf(n), nil
}

// follow looks at the node, time and again, until it is as it should be or the wait is in
// vain.
func (d *Driver) follow(ctx context.Context, until func(*nodes.Node) (bool, error)) (*nodes.Node, error) {
	for {
		n, err := d.service.look(ctx, d.id)
		if err == nil {
			var there bool
			if there, err = until(n); there {
				return n, nil
			}
		}
		if err != nil {
			return nil, err
		}
		if err := d.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause is the time between two looks.
func (d *Driver) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d.service.o.Look):
		return nil
	}
}
