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
	operations.EffectClaim:    undoClaim,
	operations.EffectHandover: undoHandover,
	operations.EffectPorts:    undoPorts,
	operations.EffectPort:     undoPort,
	operations.EffectVolumes:  undoVolumes,
	operations.EffectVolume:   undoVolume,
	operations.EffectDevice:   undoDevice,
	operations.EffectGuest:    undoGuest,
	operations.EffectRescue:   undoRescue,
	operations.EffectHalt:     undoHalt,

	operations.EffectNewVolume: undoNewVolume,
	operations.EffectSwapped:   undoSwapped,
	operations.EffectOldVolume: undoOldVolume,

	operations.EffectMovedPorts:   undoMovedPorts,
	operations.EffectMovedVolumes: undoMovedVolumes,
	operations.EffectStarted:      undoBy(steps.PowerForceStop),
	operations.EffectResized:      undoBy(steps.PowerUndoResize),
	operations.EffectAside:        undoBy(steps.PowerKeepResize),

	operations.EffectBindings:    undoBindings,
	operations.EffectConnections: undoConnections,

	operations.EffectOldBindings:    undoOldBindings,
	operations.EffectOldConnections: undoOldConnections,

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

// undoHandover gives a server the room back that its migration had of it.
func undoHandover(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return steps.Placement.HandBack(ctx, steps.HandBackIn{Fence: s.Fence, Seq: e.Seq})
}

// errGuestOwed keeps a claim for as long as the guest may still be running.
var errGuestOwed = faults.New(faults.Unavailable, "GuestOwed", "its guest is owed")

// undoClaim gives the room back, and tells if the host has failed what it was for.
func undoClaim(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	for _, other := range s.Ledger() {
		if other.Kind == operations.EffectGuest && other.Host == e.Host && other.State == operations.Owed {
			return errGuestOwed
		}
	}
	return steps.Placement.Release(ctx, steps.ReleaseIn{Fence: s.Fence, Seq: e.Seq, Failed: s.Blames(e.Host)})
}

// undoBindings takes the server's ports off their host and leaves them to it.
func undoBindings(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Neutron.Unbind(ctx, steps.UnbindIn{Fence: s.Fence})
}

// undoConnections takes its volumes off their host and keeps them reserved.
func undoConnections(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Cinder.Disconnect(ctx, steps.DisconnectIn{Fence: s.Fence})
}

// undoOldBindings has the ports of a guest that has moved follow it.
func undoOldBindings(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Neutron.Follow(ctx, steps.FollowIn{Fence: s.Fence, HostID: movedTo(s)})
}

// undoOldConnections has its volumes follow it.
func undoOldConnections(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Cinder.Follow(ctx, steps.FollowIn{Fence: s.Fence, HostID: movedTo(s)})
}

// movedTo is the host that a move was aimed at: its claim is in the ledger of the
// run that made it, and any later run reads it of the migration.
func movedTo(s *saga.Saga) string {
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectClaim && e.Ref == s.Begun.ResourceID {
			return e.Host
		}
	}
	if m := s.Begun.Server.Migration; m != nil {
		return m.Dest
	}
	return s.Begun.Server.Host
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
