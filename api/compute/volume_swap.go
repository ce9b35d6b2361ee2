package compute

// PUT of /servers/{server_id}/os-volume_attachments/{id} with another volume: Cinder
// migrates the one that the server has, and has the server's host copy it (contracts:
// action-preconditions.json, other_operations).

import (
	"slices"

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

var swappingVolume = precondition{name: "swap_volume", vmStates: []servers.VMState{servers.VMActive, servers.VMPaused, servers.VMResized},
	taskStates: idle, launched: true, unlocked: true}

// migrating is the migration_status of a volume whose new one is there to be filled.
const migrating = "migrating"

// swapVolume has another volume take the place of the one that the path names.
func (a *API) swapVolume(r *rest.Request, newVolumeID string) error {
	old, err := a.volumeOf(r, r.Param("id"))
	if err != nil {
		return err
	}
	if old.MigrationStatus != migrating {
		return faults.New(faults.Conflict, "VolumeNotMigrating", "volume %s is not migrating; this API should only be called by Cinder", old.ID)
	}
	new, err := a.volumeOf(r, newVolumeID)
	if faults.Is(err, faults.NotFound) {
		// The body names it, not the path.
		err = faults.Wrap(err, faults.Invalid, "VolumeNotFound", "Volume %s could not be found.", newVolumeID)
	}
	if err != nil {
		return err
	}
	var accepted engine.Accepted
	err = a.onServer(r, attachmentRule+"swap", func(tx store.Tx, server *compute.Server) error {
		if err := swappingVolume.check(r, server); err != nil {
			return err
		}
		device, err := maySwap(r, tx, server, old, new)
		if err != nil {
			return err
		}
		device.Swap = compute.Swap{VolumeID: new.ID}
		if err := compute.SetSwap(r.Context(), tx, device); err != nil {
			return err
		}
		accepted, err = a.accept(r, tx, operations.ServerSwapVolume, server, steps.SwapInput{VolumeID: old.ID, NewVolumeID: new.ID},
			operations.Effect{Kind: operations.EffectNewVolume, Ref: new.ID})
		return err
	})
	if err != nil {
		return err
	}
	a.offer(accepted)
	return nil
}

// maySwap says why the one volume can't take the other's place, in the original's
// order, and gives the device of that.
func maySwap(r *rest.Request, tx store.Tx, server *compute.Server, old, new *openstack.Volume) (*compute.BlockDevice, error) {
	invalid := func(format string, args ...any) error {
		return faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: "+format, args...)
	}
	switch {
	case !slices.Contains(old.Attachments, openstack.VolumeAttachment{ServerID: server.ID}):
		return nil, invalid("Old volume is attached to a different instance.")
	case len(new.Attachments) > 0:
		return nil, invalid("New volume must be detached in order to swap.")
	case new.SizeGB < old.SizeGB:
		return nil, invalid("New volume must be the same size or larger.")
	case len(old.Attachments) > 1:
		return nil, faults.New(faults.Invalid, "MultiattachSwapVolumeNotSupported",
			"Swapping multi-attach volumes with more than one read/write attachment is not supported.")
	}
	device, err := mappingOf(r, tx, server.ID)
	if err != nil {
		return nil, err
	}
	if err := mustBeFree(r, tx, server, new); err != nil {
		return nil, err
	}
	switch {
	case device.Swap.Pending():
		return nil, invalid("volume %s is being swapped for volume %s", old.ID, device.Swap.VolumeID)
	case new.Status != "available":
		return nil, notReservable(new.ID, new.Status)
	case new.MigrationStatus != "target:"+old.ID:
		// Cinder says so in the end, when nothing can be taken back.
		return nil, invalid("Destination has migration_status %s, expected target:%s.", new.MigrationStatus, old.ID)
	}
	return device, nil
}
