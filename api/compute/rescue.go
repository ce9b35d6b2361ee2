package compute

// The action rescue: a server runs from another image for a while.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const policyRescue = "os_compute_api:os-rescue"

var rescuable = precondition{name: "rescue", vmStates: []servers.VMState{servers.VMActive, servers.VMStopped, servers.VMError},
	taskStates: idle, launched: true, unlocked: true}

// rescueRequest is the body; null asks for the server's own image and a password
// that is made up.
type rescueRequest struct {
	AdminPass string `json:"adminPass"`
	Image     string `json:"rescue_image_ref"`
}

// rescue asks Glance and Cinder first, outside of any transaction, and looks at
// the server again when it accepts.
func (a *API) rescue(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[rescueRequest](r, "rescue")
	if err != nil {
		return nil, err
	}
	server, err := a.serverOf(r, policyRescue)
	if err != nil {
		return nil, err
	}
	if err := rescuable.check(r, server); err != nil {
		return nil, err
	}
	from, err := a.rescueFrom(r, server, asked.Image)
	if err != nil {
		return nil, err
	}
	password := cmp.Or(asked.AdminPass, newPassword())
	var accepted engine.Accepted
	err = a.onServer(r, policyRescue, func(tx store.Tx, server *compute.Server) error {
		if err := rescuable.check(r, server); err != nil {
			return err
		}
		if err := compute.SetAdminPassword(r.Context(), tx, a.Secrets, server.ID, password); err != nil {
			return err
		}
		var err error
		if accepted, err = a.accept(r, tx, operations.ServerRescue, server, from); err != nil {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, servers.TaskRescuing)
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return rest.JSON(map[string]any{"adminPass": password}), nil
}

// rescueFrom is the image to run from: the one that is asked for, or else the
// server's own.
func (a *API) rescueFrom(r *rest.Request, server *compute.Server, imageRef string) (steps.Rescue, error) {
	from := steps.Rescue{ImageID: server.ImageID, ImageProperties: server.ImageProperties}
	if imageRef != "" {
		from = steps.Rescue{ImageID: imageRef}
	}
	if !a.reachable(r.Identity) {
		return from, a.rescuesVolume(r, server, from)
	}
	if imageRef != "" {
		unsupported := faults.New(faults.Invalid, "UnsupportedRescueImage", "Requested rescue image '%s' is not supported", imageRef)
		image, err := a.Neighbours.Image(r.Context(), r.Identity, imageRef)
		switch {
		case faults.Is(err, faults.NotFound), faults.Is(err, faults.Invalid):
			return from, unsupported
		case err != nil:
			return from, err
		case image.Properties["img_block_device_mapping"] != "", image.Properties["block_device_mapping"] != "":
			return from, unsupported
		}
		from.ImageProperties = image.Properties
	}
	if err := a.volumesInUse(r, server, faults.Conflict); err != nil {
		return from, err
	}
	return from, a.rescuesVolume(r, server, from)
}

// volumesInUse refuses, by a fault of a kind, a server whose volumes are anything
// but in use.
func (a *API) volumesInUse(r *rest.Request, server *compute.Server, kind faults.Kind) error {
	for _, attached := range server.Volumes {
		volume, err := a.Neighbours.Volume(r.Context(), r.Identity, attached.ID)
		if err != nil {
			return err
		}
		if volume.Status != "in-use" {
			return faults.New(kind, "InvalidVolume", "Invalid volume: volume '%s' status must be 'in-use'. Currently in '%s' status", attached.ID, volume.Status)
		}
	}
	return nil
}

// rescuesVolume refuses a server that boots from a volume, unless it can keep its
// disks where they are, from 2.87 on.
func (a *API) rescuesVolume(r *rest.Request, server *compute.Server, from steps.Rescue) error {
	if server.ImageID != "" {
		return nil
	}
	refused := func(why string) error {
		return faults.New(faults.Invalid, "InstanceNotRescuable", "Instance %s cannot be rescued: %s", server.ID, why)
	}
	if !r.Has(87) || from.ImageProperties["hw_rescue_bus"] == "" || from.ImageProperties["hw_rescue_device"] == "" {
		return refused("Cannot rescue a volume-backed instance")
	}
	able, err := a.hostRescuesVolumes(r, server.HostID)
	if err == nil && !able {
		err = refused("Host unable to rescue a volume-backed instance")
	}
	return err
}

// hostRescuesVolumes reads what the host says of itself.
func (a *API) hostRescuesVolumes(r *rest.Request, hostID string) (bool, error) {
	host, err := compute.GetHost(r.Context(), a.DB.Pool, hostID)
	if faults.Is(err, faults.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var report struct {
		Details struct {
			Traits []string `json:"traits"`
		} `json:"details"`
	}
	if len(host.Inventory) > 0 {
		if err := json.Unmarshal(host.Inventory, &report); err != nil {
			return false, fmt.Errorf("inventory of host %s: %w", host.Name, err)
		}
	}
	return slices.Contains(report.Details.Traits, "COMPUTE_RESCUE_BFV"), nil
}
