package server

// What moves have in common whose guest stands still meanwhile: resize, cold
// migration, and their revert.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Statuses of migrations that workflows set (contracts: status-map.json).
const (
	moveFinished  = "finished"
	moveConfirmed = "confirmed"
	moveReverted  = "reverted"
)

// errNotMoving ends an operation on a move that its server does not make.
var errNotMoving = faults.New(faults.Conflict, "MigrationNotFound", "the server is not being moved")

// moveOf is the server's open migration.
func moveOf(s *saga.Saga) (*steps.MigrationBrief, error) {
	if s.Begun.Server.Migration == nil {
		return nil, errNotMoving
	}
	return s.Begun.Server.Migration, nil
}

// wasOff says that the server was stopped before it was moved, and stays so.
func wasOff(m *steps.MigrationBrief) bool { return m.OldVMState == vmStopped }

// answers asks whether a host takes work, and changes nothing there.
func answers(s *saga.Saga, host string) error {
	_, err := drive(s, s.Context(), host, steps.PowerObserve)
	return err
}

// standStill is the step stop: the guest is off on the host, or only frozen if all
// that it writes to is discarded next.
func standStill(s *saga.Saga, host string, discarded bool) error {
	m, err := moveOf(s)
	if err != nil {
		return err
	}
	move := saga.Move{Host: host}
	if !wasOff(m) {
		move.Intend = []operations.Effect{{Kind: operations.EffectHalt, Ref: s.Begun.ResourceID, Host: host}}
	}
	if err := s.Step(operations.StepStop, move); err != nil {
		return err
	}
	return saga.OnHost(s.Context(), host, func(ctx workflow.Context) error {
		_, err := steps.Libvirt.Power(ctx, host, steps.PowerIn{Token: s.Token(), Action: steps.PowerStop, Discarded: discarded})
		return err
	})
}

// movePorts is the step network: the server's ports are bound to the host.
func movePorts(s *saga.Saga, host string) (plugging, error) {
	if s.Begun.Server.Ports == 0 {
		return plugging{}, nil
	}
	err := s.Step(operations.StepNetwork, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectMovedPorts, Ref: s.Begun.ResourceID}},
	})
	if err != nil {
		return plugging{}, err
	}
	out, err := steps.Neutron.Allocate(s.Context(), steps.AllocateIn{Fence: s.Fence, HostID: host})
	return plugging{ports: out.Ports, patience: out.PlugPatience, fatal: out.PlugFatal}, err
}

// moveVolumes is the step volumes: the server's volumes are attached to the host.
func moveVolumes(s *saga.Saga, host string) error {
	if s.Begun.Server.Volumes == 0 {
		return nil
	}
	err := s.Step(operations.StepVolumes, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectMovedVolumes, Ref: s.Begun.ResourceID}},
	})
	if err != nil {
		return err
	}
	return steps.Cinder.Move(s.Context(), steps.FollowIn{Fence: s.Fence, HostID: host})
}

// remake makes the guest of its disks on the host in one of the move's sizes.
func remake(s *saga.Saga, host string, size steps.Size, aside, off bool) (found steps.PowerOut, err error) {
	spec, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence, Size: size})
	if err != nil {
		return found, err
	}
	err = saga.OnHost(s.Context(), host, func(ctx workflow.Context) (err error) {
		found, err = steps.Libvirt.Resize(ctx, host, steps.ResizeIn{Token: s.Token(), Spec: spec, Aside: aside, Off: off})
		return err
	})
	return found, err
}

// takenBack undoes what a move has done so far and says how the server is then:
// as it was, its guest looked at if it had been touched.
func takenBack(s *saga.Saga, why error, move steps.MigrationOutcome) (*steps.ServerOutcome, error) {
	if steps.IsSuperseded(why) {
		return nil, why
	}
	if err := s.UndoAll(saga.Reason(why).Message); err != nil {
		return nil, err
	}
	now := &steps.ServerOutcome{Migration: &move}
	for _, e := range s.Ledger() {
		switch {
		case e.Kind != operations.EffectHalt:
		case e.State == operations.Owed:
			now.PowerState = new(powerNone) // until its host has started it
		default:
			now.PowerState = new(powerOf(s, e.Host))
		}
	}
	return now, why
}

// undoBy is the undo of an effect on a guest that one action takes back.
func undoBy(action steps.PowerAction) saga.Undo {
	return func(ctx workflow.Context, s *saga.Saga, e operations.Effect) error { return putBack(ctx, s, e, action) }
}
