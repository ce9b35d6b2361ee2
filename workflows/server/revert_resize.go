package server

// RevertResize takes a server back to where it was before a move, in the size
// that it had, with the disks that it had then.
//
//	VERIFY_RESIZE ──stop──► still ──network──► ports ──volumes──► volumes ──guest──► it runs where it was ──leave──► ACTIVE, or SHUTOFF
//	      ▲                                                             │ failed, cancelled            the new host has nothing
//	      └────────────────────────── undone, or owed ◄─────────────────┘                              of it, or owes it
//
// Point of no return: the step leave; what the guest has written since the move
// goes there. A guest without volumes isn't asked to shut down for that: it is
// frozen, and goes on if the revert doesn't.
//
//	step     before it                    after it                   its undo
//	stop     VERIFY_RESIZE, both hosts    the guest stands still on  it is started, unless
//	         have the guest               the new host               the server was stopped
//	network  the same                     its ports are bound to     they are bound to the
//	                                      the old host               new one
//	volumes  the same                     its volumes are in use on  they are in use on the
//	                                      the old host               new one
//	guest    the same                     the old host runs it, or   it is turned off there
//	                                      has it stand still if the
//	                                      server was stopped
//	         (none of the three on the same host, which has its old guest only when
//	         the new one is gone)
//	leave    the same                     the new host has nothing of the guest, or
//	                                      it is a debt; the room on the old host is
//	                                      the server's again. On the same host the
//	                                      disks that were set aside are its own, and
//	                                      it runs, or stands still
//	finish   the same                     the row says it
//
//	cancelled before leave, or failed: VERIFY_RESIZE as it was

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// RevertResize is the workflow of operations.ServerRevertResize.
func RevertResize(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := revertResize(s)
	undone := unconfirmed()
	if err != nil && now == nil {
		now, err = takenBack(s, err, *undone.Migration)
		undone = now
	}
	return s.Close(saga.Outcome{Server: now, OnFailure: now, OnCancel: undone}, err)
}

// revertResize also says what is true if it fails beyond its point of no return.
func revertResize(s *saga.Saga) (*steps.ServerOutcome, error) {
	m, err := moveOf(s)
	if err != nil {
		return nil, err
	}
	dest, err := homeOf(s)
	if err != nil {
		return nil, err
	}
	switch s.Begun.Step {
	case operations.StepUndo:
		return nil, errInterrupted
	case operations.StepLeave:
		return leave(s)
	}
	if err := answers(s, m.Source); err != nil {
		return nil, err
	}
	// Its disks there are copies that go; volumes stay, and are left in order.
	if err := standStill(s, dest, s.Begun.Server.Volumes == 0); err != nil {
		return nil, err
	}
	if dest != m.Source {
		if err := comeBack(s, m); err != nil {
			return nil, err
		}
	}
	return leave(s)
}

// comeBack has the old host run the guest that it has kept.
func comeBack(s *saga.Saga, m *steps.MigrationBrief) error {
	ports, err := movePorts(s, m.Source)
	if err != nil {
		return err
	}
	if err := moveVolumes(s, m.Source); err != nil {
		return err
	}
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   m.Source,
		Intend: []operations.Effect{{Kind: operations.EffectStarted, Ref: s.Begun.ResourceID, Host: m.Source}},
	})
	if err != nil {
		return err
	}
	if _, err := remake(s, m.Source, steps.OldSize, false, wasOff(m)); err != nil {
		return err
	}
	return ports.await(s)
}

// leave takes away what the new host has, and says what is true afterwards
// whether it went well or not. What was done before is not undone any more.
func leave(s *saga.Saga) (*steps.ServerOutcome, error) {
	m, err := moveOf(s)
	if err != nil {
		return nil, err
	}
	dest := s.Begun.Server.Host
	if err := s.Step(operations.StepLeave, saga.Move{Host: dest}); err != nil {
		return nil, err
	}
	pass := saga.Move{Host: dest} // only now, when no cancel counts any more
	for _, e := range s.Ledger() {
		if e.Open() && slices.Contains(ofTheWayBack, e.Kind) {
			pass.Settle = append(pass.Settle, steps.Settlement{Seq: e.Seq, State: operations.Passed})
		}
	}
	if err := s.Step(operations.StepLeave, pass); err != nil {
		return nil, err
	}
	now := &steps.ServerOutcome{VMState: &m.OldVMState, Host: &m.Source, Launched: true,
		Migration: &steps.MigrationOutcome{Status: moveReverted, Flavor: steps.OldSize}}
	guest := operations.Effect{Kind: operations.EffectGuest, Ref: s.Begun.ResourceID, Host: dest}
	if dest == m.Source {
		guest.Kind = operations.EffectResized
	}
	err = s.TakeAway(operations.StepLeave, dest, []operations.Effect{
		{Kind: operations.EffectHandover, Ref: m.UUID, Host: m.Source},
		{Kind: operations.EffectClaim, Ref: s.Begun.ResourceID, Host: dest},
		guest,
	})
	if err == nil && dest == m.Source {
		err = startAgain(s, m)
	}
	if steps.IsSuperseded(err) {
		return nil, err
	}
	power := powerOf(s, m.Source)
	if putBackLater(s) {
		power = powerNone // what it is now it isn't for long
	}
	switch {
	case err != nil && !harmless(err):
		now.VMState = new(vmError)
	case err == nil && power == powerNone && wasOff(m):
		power = powerOff
	case err == nil && power == powerNone:
		power = powerRunning
	}
	now.PowerState = &power
	return now, err
}

// startAgain has the host run the guest of the disks that were set aside, or that
// it still has to put back first.
func startAgain(s *saga.Saga, m *steps.MigrationBrief) error {
	if putBackLater(s) {
		return saga.ErrHostDown
	}
	_, err := remake(s, m.Source, steps.OldSize, false, wasOff(m))
	return err
}

// putBackLater says that the host owes the guest that was set aside.
func putBackLater(s *saga.Saga) bool {
	return slices.ContainsFunc(s.Ledger(), func(e operations.Effect) bool {
		return e.Kind == operations.EffectResized && e.State == operations.Owed
	})
}

// ofTheWayBack are the effects of the steps before leave.
var ofTheWayBack = []operations.EffectKind{operations.EffectHalt, operations.EffectMovedPorts,
	operations.EffectMovedVolumes, operations.EffectStarted}
