package server

// One undo per kind of effect, shared by every operation on servers: its own
// compensation, deletion, recovery, and a run started from nothing.

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

var undo = map[operations.EffectKind]saga.Undo{
	operations.EffectClaim:   undoClaim,
	operations.EffectPorts:   undoPorts,
	operations.EffectPort:    undoPort,
	operations.EffectVolumes: undoVolumes,
	operations.EffectVolume:  undoVolume,
	operations.EffectDevice:  undoDevice,
	operations.EffectGuest:   undoGuest,
	operations.EffectRescue:  undoRescue,
	operations.EffectHalt:    undoHalt,

	operations.EffectBindings:    undoBindings,
	operations.EffectConnections: undoConnections,

	operations.EffectImage:        undoImage,
	operations.EffectSnapshots:    undoSnapshots,
	operations.EffectSnapshotFile: undoSnapshotFile,
}

// undoGuest removes the domain and its disks.
func undoGuest(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return saga.OnHost(ctx, e.Host, func(ctx workflow.Context) error {
		return steps.Libvirt.Destroy(ctx, e.Host, steps.DestroyIn{Token: s.Token()})
	})
}

// undoPorts takes the server off its ports.
func undoPorts(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Neutron.Deallocate(ctx, steps.DeallocateIn{Fence: s.Fence})
}

// undoPort takes the server off one of its ports.
func undoPort(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	position, err := strconv.Atoi(e.Ref)
	if err != nil {
		return faults.Wrap(err, faults.Internal, "InvalidEffect", "%q is no position of an interface", e.Ref)
	}
	return steps.Neutron.Deallocate(ctx, steps.DeallocateIn{Fence: s.Fence, Position: &position})
}

// undoVolume takes the server off one of its volumes.
func undoVolume(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return steps.Cinder.Release(ctx, steps.ReleaseVolumesIn{Fence: s.Fence, VolumeID: e.Ref})
}

// undoVolumes takes the server off its volumes: at its end as the user asked
// for with delete_on_termination, otherwise as if it had never been built.
func undoVolumes(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	kind := s.Begun.Kind
	if s.Begun.Recovers != nil {
		kind = s.Begun.Recovers.Kind
	}
	return steps.Cinder.Release(ctx, steps.ReleaseVolumesIn{Fence: s.Fence, Terminate: kind == operations.ServerDelete})
}

// errGuestOwed keeps a claim for as long as the guest may still be running.
var errGuestOwed = faults.New(faults.Unavailable, "GuestOwed", "its guest is owed")

// undoClaim gives the room back.
func undoClaim(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	for _, other := range s.Ledger() {
		if other.Kind == operations.EffectGuest && other.Host == e.Host && other.State == operations.Owed {
			return errGuestOwed
		}
	}
	return steps.Placement.Release(ctx, steps.ReleaseIn{Fence: s.Fence, Seq: e.Seq})
}

// undoBindings takes the server's ports off their host and leaves them to it.
func undoBindings(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Neutron.Unbind(ctx, steps.UnbindIn{Fence: s.Fence})
}

// undoConnections takes its volumes off their host and keeps them reserved.
func undoConnections(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Cinder.Disconnect(ctx, steps.DisconnectIn{Fence: s.Fence})
}

// undoRescue has the guest be as it was before its rescue.
func undoRescue(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return putBack(ctx, s, e, steps.PowerUndoRescue)
}

// undoHalt has the guest run that ran before.
func undoHalt(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return putBack(ctx, s, e, steps.PowerStart)
}

// putBack changes the guest's power; of one that is gone there is nothing to
// take back.
func putBack(ctx workflow.Context, s *saga.Saga, e operations.Effect, action steps.PowerAction) error {
	err := saga.OnHost(ctx, e.Host, func(ctx workflow.Context) error {
		_, err := steps.Libvirt.Power(ctx, e.Host, steps.PowerIn{Token: s.Token(), Action: action})
		return err
	})
	if f := steps.Decode(err); f != nil && f.Kind == faults.NotFound {
		return nil
	}
	return err
}
