package server

// Evacuate makes a server anew on another host when the one that it is on is
// down. Its volumes and ports go with it; disks on the old host do not, unless both
// hosts see them: the new guest has those then, and the old one has them still.
//
//	on a host that is down ──schedule──► claim elsewhere ──network──► ports there ──volumes──► volumes there
//	          ▲                                                                                │
//	          │ undone or owed, next host or none                                            guest
//	          └───────────────────────────────────────────────────────────────────────────────┴──leave──► ACTIVE or
//	                                        the old host owes the guest that it has                       SHUTOFF there
//
// Point of no return: the step leave. The guest on the old host is the only one
// that the server has until the new one is there, so nothing of it is given up
// before that; afterwards it is a debt of the old host in the ledger of this
// operation, and that host takes nothing away without it. A host that comes back
// while this goes on finds no debt, and its guest as it was.
//
//	step      before it                  after it                    its undo
//	schedule  on the old host            room is claimed on the new  the room is given back,
//	                                     one as well                 or owed with the guest
//	network   the same                   its ports are bound there   they are bound to the
//	                                                                 old host, or owed
//	volumes   the same                   its volumes are connected   they are connected to
//	                                     there                       the old host, or owed
//	guest     the same                   the guest is there, off if  domain and disks are
//	                                     it was asked for so         removed, or owed
//	leave     the same                   the old host owes its guest none: a guest that is
//	                                     and the room of it, or has  made anew is not undone
//	                                     no more of it               for one that is lost
//	finish    the same                   on the new host; claim, ports, volumes and guest
//	                                     there are the server's own, the migration is done
//
//	cancelled before leave: as it was, or a debt of who is down
//	failed before leave: the same in ERROR, as in the original, and the guest on the
//	old host is never touched

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// moveDone is the status of an evacuation that is over.
const moveDone = "done"

// Evacuate is the workflow of operations.ServerEvacuate.
func Evacuate(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := evacuate(s)
	after := saga.Outcome{Server: now, OnFailure: now, OnCancel: now}
	if now == nil {
		after.OnCancel = &steps.ServerOutcome{Migration: &steps.MigrationOutcome{Status: moveCancelled}}
		after.OnFailure = notEvacuated()
		switch f := saga.Reason(err); {
		case errors.Is(err, errSourceUp):
			after.OnFailure.VMState = nil
		case f.Kind != faults.NoCapacity:
			after.OnFailure.Migration.Status = moveFailed
		}
	}
	return s.Close(after, err)
}

// notEvacuated: the server is where it was, and an operator has to look.
func notEvacuated() *steps.ServerOutcome {
	now := broken()
	now.Migration = &steps.MigrationOutcome{Status: moveError}
	return now
}

// errSourceUp has the words of nova.exception.ComputeServiceInUse.
var errSourceUp = faults.New(faults.Conflict, "ComputeServiceInUse", "Compute service of the server's host is still in use.")

func evacuate(s *saga.Saga) (*steps.ServerOutcome, error) {
	if s.Begun.Step == operations.StepLeave {
		return leaveBehind(s)
	}
	asked, err := saga.Input[steps.EvacuateInput](s)
	if err != nil {
		return nil, err
	}
	if err := mayEvacuate(s); err != nil {
		return nil, err
	}
	for {
		host, err := schedule(s, &steps.Destination{Host: asked.Host})
		if err != nil {
			return nil, err
		}
		if err = resettle(s, host, asked); err == nil {
			return leaveBehind(s)
		}
		if !anotherHostMayDo(err) {
			return nil, err
		}
		if err := leaveHost(s, err); err != nil {
			return nil, err
		}
	}
}

// mayEvacuate says whether the server can be made anew elsewhere. An earlier run
// that was lost while it left a host is undone first.
func mayEvacuate(s *saga.Saga) error {
	home, err := homeOf(s)
	if err != nil {
		return err
	}
	if s.Begun.Step == operations.StepUndo {
		if err := leaveHost(s, errors.New("the attempt was interrupted")); err != nil {
			return err
		}
	}
	return stillDown(s, home)
}

// stillDown fails once the server's host is back, which runs the guest that it has.
func stillDown(s *saga.Saga, home string) error {
	h, err := steps.Records.Host(s.Context(), steps.HostIn{HostID: home})
	if err == nil && h.Up {
		err = errSourceUp
	}
	return err
}

// resettle makes all that the server has on the new host.
func resettle(s *saga.Saga, host string, asked steps.EvacuateInput) error {
	ports, err := connect(s, host)
	if err != nil {
		return err
	}
	if err := carryVolumes(s, host); err != nil {
		return err
	}
	if err := stillDown(s, s.Begun.Server.Host); err != nil {
		return err
	}
	if _, err := spawnAs(s, host, steps.BuildIn{HeirOf: s.Begun.Server.Host, Shared: asked.OnSharedStorage}); err != nil {
		return err
	}
	if vm, _ := settled(s, asked); vm == vmStopped {
		if _, err := drive(s, s.Context(), host, steps.PowerForceStop); err != nil {
			return err
		}
	}
	return ports.plugged(s)
}

// carryVolumes takes the server's volumes to the host.
func carryVolumes(s *saga.Saga, host string) error {
	if s.Begun.Server.Volumes == 0 {
		return nil
	}
	err := s.Step(operations.StepVolumes, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: kindFor(s, operations.EffectVolumes), Ref: s.Begun.ResourceID}},
	})
	if err != nil {
		return err
	}
	return steps.Cinder.Move(s.Context(), steps.FollowIn{Fence: s.Fence, HostID: host})
}

// leaveBehind does what is beyond the point of no return, perhaps once more: the
// old host owes what it has, and the server is on the new one.
func leaveBehind(s *saga.Saga) (*steps.ServerOutcome, error) {
	asked, err := saga.Input[steps.EvacuateInput](s)
	if err != nil {
		return nil, err
	}
	home := s.Begun.Server.Host
	if err := s.Step(operations.StepLeave, saga.Move{Host: home}); err != nil {
		return nil, err
	}
	if err := s.TakeAwayFrom(operations.StepLeave, home, s.Begun.Server.Holds); err != nil {
		return nil, err
	}
	host := home
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectClaim && e.Host != home && e.Open() {
			host = e.Host
		}
	}
	now := running(host, powerRunning)
	vm, power := settled(s, asked)
	now.VMState, now.PowerState = &vm, &power
	now.Migration = &steps.MigrationOutcome{Status: moveDone}
	return now, nil
}

// settled is what the server is once it is made anew: off if it was, or if it was
// asked for so; one in ERROR runs.
func settled(s *saga.Saga, asked steps.EvacuateInput) (vm string, power int) {
	was := s.Begun.Server.VMState
	if was == vmStopped || asked.Stopped && was != vmError {
		return vmStopped, powerOff
	}
	return vmActive, powerRunning
}

// undoMovedPorts binds the server's ports to the host that it is on.
func undoMovedPorts(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	_, err := steps.Neutron.Allocate(ctx, steps.AllocateIn{Fence: s.Fence, HostID: s.Begun.Server.Host})
	return err
}

// undoMovedVolumes takes the server's volumes there.
func undoMovedVolumes(ctx workflow.Context, s *saga.Saga, _ operations.Effect) error {
	return steps.Cinder.Move(ctx, steps.FollowIn{Fence: s.Fence, HostID: s.Begun.Server.Host})
}
