package server

// Resize moves a server to another host in another size, or gives it that size on
// the host where it is; a cold migration moves it in its own. The old host keeps
// what the guest was until the move is confirmed or reverted.
//
//	active, stopped ──schedule──► room on a host ──stop──► off ──network──► ports ──volumes──► volumes ──guest──► VERIFY_RESIZE
//	      ▲                          │ it doesn't answer: next host                                   │
//	      └── as it was ◄────────────┴──────────────────── undone, or owed ◄───────────────────────────┘
//
// Point of no return: none before it finishes.
//
//	step      before it                    after it                    its undo
//	schedule  the guest as it was          the server has room on the  the room is given
//	                                       new host, its migration     back, the old one is
//	                                       what it had on the old one  the server's again
//	stop      the same                     the guest stands still      it is started, unless
//	                                                                   the server was stopped
//	network   the same                     its ports are bound to the  they are bound to the
//	                                       new host                    old one
//	volumes   the same                     its volumes are in use on   they are in use on the
//	                                       the new host                old one
//	          (neither step for a server that stays on its host or has no such thing)
//	guest     the same                     the new host has its disks  domain and disks there
//	                                       and runs it in the new      are removed; on the
//	                                       size, or has it stand still same host it is what it
//	                                       if the server was stopped;  was, of the disks that
//	                                       the old one's disks are     were set aside; or owed
//	                                       untouched
//	finish    the same                     VERIFY_RESIZE on the new
//	                                       host, in the new size
//
//	cancelled at any step, or failed: as it was on the old host, or a debt of a
//	host that is down; the migration is in error and the fault says why

import (
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"

	"go.temporal.io/sdk/workflow"
)

// Resize is the workflow of operations.ServerResize and operations.ServerMigrate.
func Resize(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := resize(s)
	undone := notMoved()
	if err != nil {
		now, err = takenBack(s, err, *undone.Migration)
		undone = now
	}
	return s.Close(saga.Outcome{Server: now, OnFailure: now, OnCancel: undone}, err)
}

func resize(s *saga.Saga) (*steps.ServerOutcome, error) {
	in, err := saga.Input[steps.Resize](s)
	if err != nil {
		return nil, err
	}
	source, err := homeOf(s)
	if err != nil {
		return nil, err
	}
	if s.Begun.Step == operations.StepUndo {
		// An earlier run was lost while it took the move back.
		return nil, errInterrupted
	}
	dest, err := aim(s, in)
	if err != nil {
		return nil, notAimed(s, err)
	}
	if err := neverShrinks(s); err != nil {
		return nil, err
	}
	if err := standStill(s, source, false); err != nil {
		return nil, err
	}
	var found steps.PowerOut
	if dest == source {
		found, err = grow(s, source)
	} else {
		found, err = carry(s, source, dest)
	}
	if err != nil {
		return nil, err
	}
	return &steps.ServerOutcome{VMState: new(vmResized), PowerState: &found.PowerState, Host: &dest, Launched: true,
		Migration: &steps.MigrationOutcome{Status: moveFinished, Flavor: steps.NewSize, Leftover: true}}, nil
}

// aim is the step schedule: it chooses a host that takes work and has room, and
// leaves those that don't answer.
func aim(s *saga.Saga, in steps.Resize) (host string, err error) {
	for {
		if err := s.Step(operations.StepSchedule, saga.Move{}); err != nil {
			return "", err
		}
		claim, err := steps.Placement.ClaimMove(s.Context(), steps.MoveClaimIn{
			Fence: s.Fence, Attempt: s.Attempt(), Host: in.Host, SameHost: in.SameHost, Exclude: tried(s)})
		if err != nil {
			return "", err
		}
		s.Adopt(claim.Effects)
		err = answers(s, claim.HostID)
		if err == nil || !anotherHostMayDo(err) {
			return claim.HostID, err
		}
		if err := leaveHost(s, err); err != nil {
			return "", err
		}
	}
}

// notAimed has the words of the original's NoValidHost.
func notAimed(s *saga.Saga, err error) error {
	f := steps.Decode(err)
	if f == nil || f.Code != "NoValidHost" {
		return err
	}
	what := "resize"
	if s.Begun.Kind == operations.ServerMigrate {
		what = "cold migrate"
	}
	return faults.New(faults.NoCapacity, f.Code, "No valid host was found. No valid host found for %s", what)
}

// neverShrinks refuses a size with smaller disks before anything is touched, in
// the words of the original's ResizeError.
func neverShrinks(s *saga.Saga) error {
	was, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence, Size: steps.OldSize})
	if err != nil {
		return err
	}
	will, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence, Size: steps.NewSize})
	if err != nil {
		return err
	}
	if will.ImageID != "" && will.RootGB < was.RootGB || will.EphemeralGB < was.EphemeralGB {
		return faults.New(faults.Invalid, "ResizeError", "Resize error: Unable to resize disk down.")
	}
	return nil
}

// grow is the step guest on the same host.
func grow(s *saga.Saga, host string) (found steps.PowerOut, err error) {
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectResized, Ref: s.Begun.ResourceID, Host: host}},
	})
	if err != nil {
		return found, err
	}
	return remake(s, host, steps.NewSize, true, wasOff(s.Begun.Server.Migration))
}

// carry brings the guest from one host to another, with all that it has.
func carry(s *saga.Saga, source, dest string) (found steps.PowerOut, err error) {
	ports, err := movePorts(s, dest)
	if err != nil {
		return found, err
	}
	if err := moveVolumes(s, dest); err != nil {
		return found, err
	}
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   dest,
		Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: s.Begun.ResourceID, Host: dest}},
	})
	if err != nil {
		return found, err
	}
	if err := fetch(s, source, dest); err != nil {
		return found, err
	}
	if found, err = remake(s, dest, steps.NewSize, false, wasOff(s.Begun.Server.Migration)); err != nil {
		return found, err
	}
	return found, ports.await(s)
}

// fetch brings the guest's disks to the new host.
func fetch(s *saga.Saga, source, dest string) error {
	from, err := steps.Records.Host(s.Context(), steps.HostIn{HostID: source})
	if err != nil {
		return err
	}
	spec, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence, Size: steps.NewSize})
	if err != nil {
		return err
	}
	return saga.OnHost(s.Context(), dest, func(ctx workflow.Context) error {
		_, err := steps.Libvirt.Fetch(ctx, dest, steps.FetchIn{Token: s.Token(), Spec: spec, Source: source, Address: from.Address})
		return err
	})
}
