package server

// ConfirmResize ends a move by what is left of the server where it was.
//
//	VERIFY_RESIZE ──leave──► the old host has nothing of it ──► ACTIVE, or SHUTOFF
//	                   └── it is down: owed, and on
//
// Point of no return: it is forward from its first step. A cancel is noted and
// changes nothing; an old host that is down owes what it holds and holds nothing
// up.
//
//	step    before it                    after it
//	leave   the old host has the guest   it is gone, and the room that the
//	        as it was, or the same host  migration held of it, or both are debts;
//	        the disks set aside          the guest is left alone
//	finish  the same                     ACTIVE, or SHUTOFF if its guest is off

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// ConfirmResize is the workflow of operations.ServerConfirmResize.
func ConfirmResize(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := confirmResize(s)
	return s.Close(saga.Outcome{Server: now, OnFailure: unconfirmed()}, err)
}

// unconfirmed is what is true of a server whose move waits as it did before.
func unconfirmed() *steps.ServerOutcome {
	return &steps.ServerOutcome{Migration: &steps.MigrationOutcome{Status: moveFinished, Leftover: true}}
}

func confirmResize(s *saga.Saga) (*steps.ServerOutcome, error) {
	m, err := moveOf(s)
	if err != nil {
		return nil, err
	}
	home, err := homeOf(s)
	if err != nil {
		return nil, err
	}
	if err := s.TakeAway(operations.StepLeave, m.Source, left(s, m)); err != nil {
		return nil, err
	}
	now := &steps.ServerOutcome{VMState: new(vmActive), Migration: &steps.MigrationOutcome{Status: moveConfirmed}}
	power := powerOf(s, home)
	if power != powerNone {
		now.PowerState = &power
	}
	if power == powerOff || power == powerNone && wasOff(m) {
		now.VMState = new(vmStopped)
	}
	return now, nil
}

// left is what a move has left where the server was; a host that has been
// forgotten has nothing.
func left(s *saga.Saga, m *steps.MigrationBrief) []operations.Effect {
	if m.Source == "" {
		return nil
	}
	guest := operations.Effect{Kind: operations.EffectGuest, Ref: s.Begun.ResourceID, Host: m.Source}
	if m.Source == s.Begun.Server.Host {
		guest.Kind = operations.EffectAside
	}
	return []operations.Effect{{Kind: operations.EffectClaim, Ref: m.UUID, Host: m.Source}, guest}
}
