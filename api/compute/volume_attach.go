package compute

// POST, PUT and DELETE of /servers/{server_id}/os-volume_attachments: volumes
// that come and go while the server is there (contracts:
// action-preconditions.json, other_operations).

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// withVolumes are the states in which a server may be given volumes, and lose them.
var withVolumes = []servers.VMState{servers.VMActive, servers.VMPaused, servers.VMStopped, servers.VMResized, servers.VMSoftDeleted,
	servers.VMShelved, servers.VMShelvedOffloaded}

var (
	attachingVolume = precondition{name: "attach_volume", vmStates: withVolumes, taskStates: idle, launched: true, unlocked: true}
	detachingVolume = precondition{name: "detach_volume", vmStates: withVolumes, taskStates: idle, launched: true, unlocked: true}
)

const (
	// withShelved is the microversion since which shelved servers may be given
	// volumes, withoutBody the one that answers before they have them.
	withShelved = 20
	withoutBody = 101
)

// checkVolumes is check, which refuses shelved servers before a microversion.
func (p precondition) checkVolumes(r *rest.Request, s *compute.Server) error {
	if shelved := s.VMState == servers.VMShelved || s.VMState == servers.VMShelvedOffloaded; shelved && !r.Has(withShelved) {
		return p.conflict(s, "vm_state", string(s.VMState))
	}
	return p.check(r, s)
}

// volumeRequest is the body's "volumeAttachment".
type volumeRequest struct {
	VolumeID            string  `json:"volumeId"`
	Device              *string `json:"device"`
	Tag                 *string `json:"tag"`
	DeleteOnTermination *truth  `json:"delete_on_termination"`
	ServerID            *string `json:"serverId"`
	ID                  *string `json:"id"`
}

// attachVolume gives the server a volume. Before 2.101 it answers when the guest
// has it, or half a minute has gone.
func (a *API) attachVolume(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[volumeRequest](r, "volumeAttachment")
	if err != nil {
		return nil, err
	}
	server, err := a.serverOf(r, attachmentRule+"create")
	if err != nil {
		return nil, err
	}
	if err := attachingVolume.checkVolumes(r, server); err != nil {
		return nil, err
	}
	volume, err := a.volumeOf(r, asked.VolumeID)
	if err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	device := compute.BlockDevice{ServerID: server.ID, SourceType: "volume", DestinationType: "volume", VolumeID: volume.ID, VolumeSizeGB: volume.SizeGB, Multiattach: volume.Multiattach,
		DeleteOnTermination: asked.DeleteOnTermination != nil && bool(*asked.DeleteOnTermination)}
	if asked.Tag != nil {
		device.Tag = *asked.Tag
	}
	err = a.onServer(r, attachmentRule+"create", func(tx store.Tx, server *compute.Server) error {
		if err := attachingVolume.checkVolumes(r, server); err != nil {
			return err
		}
		if err := mayHave(r, tx, server, volume, device.Tag); err != nil {
			return err
		}
		if err := addDevice(r, tx, server, &device); err != nil {
			return err
		}
		accepted, err = a.accept(r, tx, operations.ServerAttachVolume, server, steps.VolumeInput{VolumeID: volume.ID},
			operations.Effect{Kind: operations.EffectVolume, Ref: volume.ID})
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	if r.Has(withoutBody) {
		return nil, nil
	}
	if err := a.await(r, accepted.OperationID); err != nil {
		return nil, err
	}
	shown := map[string]any{"id": volume.ID, "volumeId": volume.ID, "serverId": server.ID, "device": device.DeviceName}
	if r.Has(70) {
		shown["tag"] = textOrNil(device.Tag)
	}
	if r.Has(79) {
		shown["delete_on_termination"] = device.DeleteOnTermination
	}
	return rest.JSON(map[string]any{"volumeAttachment": shown}), nil
}

// volumeOf asks Cinder for a volume; for callers without a catalog it is what
// they say.
func (a *API) volumeOf(r *rest.Request, id string) (*openstack.Volume, error) {
	if !a.reachable(r.Identity) {
		return &openstack.Volume{ID: id, Status: "available"}, nil
	}
	volume, err := a.Neighbours.Volume(r.Context(), r.Identity, id)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "VolumeNotFound", "Volume %s could not be found.", id)
	}
	return volume, err
}

// mayHave says why the server can't be given the volume, in the original's order.
func mayHave(r *rest.Request, tx store.Tx, server *compute.Server, volume *openstack.Volume, tag string) error {
	if err := mustBeFree(r, tx, server, volume); err != nil {
		return err
	}
	offloaded := server.VMState == servers.VMShelvedOffloaded
	switch {
	case offloaded && tag != "":
		return faults.New(faults.Invalid, "VolumeTaggedAttachToShelvedNotSupported", "Tagged volume attachment is not supported for shelved-offloaded instances.")
	case offloaded && volume.Multiattach:
		return faults.New(faults.Invalid, "MultiattachToShelvedNotSupported", "Attaching multiattach volumes is not supported for shelved-offloaded instances.")
	case volume.Multiattach && !r.Has(multiattachSince):
		return faults.New(faults.Invalid, "MultiattachNotSupportedOldMicroversion", "Multiattach volumes are only supported starting with compute API version 2.60.")
	case volume.Status != "available" && !(volume.Multiattach && volume.Status == "in-use"):
		return notReservable(volume.ID, volume.Status)
	}
	return nil
}

// mustBeFree says which servers have the volume that may not.
func mustBeFree(r *rest.Request, tx store.Tx, server *compute.Server, volume *openstack.Volume) error {
	have, err := compute.ServersOfVolume(r.Context(), tx, volume.ID)
	switch {
	case err != nil:
		return err
	case !volume.Multiattach && len(have) > 0:
		return faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: volume %s is already attached to instances: %s", volume.ID, strings.Join(have, " "))
	case slices.Contains(have, server.ID):
		return faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: volume %s already attached", volume.ID)
	}
	return nil
}

// addDevice writes the device under the first name that is free. What the
// request calls it counts for nothing: the hypervisor can't honour it.
func addDevice(r *rest.Request, tx store.Tx, server *compute.Server, device *compute.BlockDevice) error {
	devices, err := compute.BlockDevices(r.Context(), tx, server.ID)
	if err != nil {
		return err
	}
	disks, err := compute.Disks(server, append(devices, device))
	if err == nil {
		err = servers.CheckDisks(len(disks))
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(disks, func(d compute.Disk) bool { return d.Device == device })
	device.DeviceName, device.DiskBus = servers.DevicePath(disks[i].Name), disks[i].Bus
	err = compute.AddVolume(r.Context(), tx, *device)
	if f := faults.As(err); err != nil && f.Code == "VolumeAttached" {
		return faults.Wrap(err, faults.Invalid, "InvalidVolume", "Invalid volume: volume %s already attached", device.VolumeID)
	}
	return err
}

// detachVolume takes a volume from the server.
func (a *API) detachVolume(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, attachmentRule+"delete")
	if err != nil {
		return nil, err
	}
	if err := (precondition{name: detachingVolume.name}).checkVolumes(r, server); err != nil {
		return nil, err
	}
	volume, err := a.volumeOf(r, r.Param("id"))
	if err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	err = a.onServer(r, attachmentRule+"delete", func(tx store.Tx, server *compute.Server) error {
		device, err := deviceOf(r, tx, server.ID)
		if err != nil {
			return err
		}
		if device.Boots() {
			return faults.New(faults.Invalid, "RootDevice", "Cannot detach a root device volume")
		}
		if err := detachingVolume.checkVolumes(r, server); err != nil {
			return err
		}
		if a.reachable(r.Identity) && volume.Status != "in-use" && server.VMState != servers.VMShelvedOffloaded {
			return faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: Invalid input received: Invalid volume: "+
				"Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach.")
		}
		if server.HostID != "" && server.VMState != servers.VMShelvedOffloaded {
			if err := a.hostUp(r, tx, server.HostID); err != nil {
				return err
			}
		}
		accepted, err = a.accept(r, tx, operations.ServerDetachVolume, server, steps.VolumeInput{VolumeID: device.VolumeID})
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return nil, nil
}

// deviceOf is the device of the volume that the path names.
func deviceOf(r *rest.Request, q store.Queryer, serverID string) (*compute.BlockDevice, error) {
	devices, err := compute.BlockDevices(r.Context(), q, serverID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(devices, func(d *compute.BlockDevice) bool { return d.VolumeID != "" && d.VolumeID == r.Param("id") })
	if i < 0 {
		return nil, faults.New(faults.NotFound, "VolumeBDMNotFound", "Instance %s is not attached to volume %s", serverID, r.Param("id"))
	}
	return devices[i], nil
}

// mappingOf is deviceOf in the words of requests that change an attachment.
func mappingOf(r *rest.Request, q store.Queryer, serverID string) (*compute.BlockDevice, error) {
	device, err := deviceOf(r, q, serverID)
	if faults.Is(err, faults.NotFound) {
		err = faults.Wrap(err, faults.NotFound, "VolumeBDMNotFound", "No volume Block Device Mapping with id %s.", r.Param("id"))
	}
	return device, err
}

// updatable is the microversion since which an attachment can be changed without
// a swap of its volume.
const updatable = 85

// updateAttachment changes whether the volume ends with its server, and puts another
// volume in its place.
func (a *API) updateAttachment(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[volumeRequest](r, "volumeAttachment")
	if err != nil {
		return nil, err
	}
	swap, rule := !r.Has(updatable) || asked.VolumeID != r.Param("id"), attachmentRule+"update"
	if swap {
		rule = attachmentRule + "swap"
	}
	err = a.onServer(r, rule, func(tx store.Tx, server *compute.Server) error {
		if !r.Has(updatable) {
			return nil
		}
		return asked.change(r, tx, server)
	})
	if err == nil && swap {
		err = a.swapVolume(r, asked.VolumeID)
	}
	return nil, err
}

// change writes what can be changed, and refuses what can't.
func (asked *volumeRequest) change(r *rest.Request, tx store.Tx, server *compute.Server) error {
	device, err := mappingOf(r, tx, server.ID)
	if err != nil {
		return err
	}
	for _, fixed := range []struct {
		name string
		asks *string
		is   string
	}{{"id", asked.ID, device.VolumeID}, {"serverId", asked.ServerID, server.ID}, {"device", asked.Device, device.DeviceName}, {"tag", asked.Tag, device.Tag}} {
		if fixed.asks != nil && *fixed.asks != fixed.is {
			return faults.New(faults.Invalid, "NotMutable", "The %s property is not mutable", fixed.name)
		}
	}
	if asked.DeleteOnTermination == nil {
		return nil
	}
	return compute.SetVolumeEnds(r.Context(), tx, server.ID, device.VolumeID, bool(*asked.DeleteOnTermination))
}
