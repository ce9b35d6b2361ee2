package server

// Shelve puts a server on the shelf: off, with an image to start from again, and
// off its host at once if it was asked for so. ShelveOffload takes one that is on
// the shelf off its host.
//
//	an image in Glance that waits for its data, made by the request
//	   ──guest──► off ──snapshot──► copy on the host ──upload──► the image has its data
//	                                   ──shelve──► SHELVED, or ──offload──► SHELVED_OFFLOADED
//	(boots from a volume) ──guest──► off ──shelve──offload──► SHELVED_OFFLOADED
//
// Point of no return: the step shelve, with which ShelveOffload begins.
// The guest of a server that was paused or suspended stays so until then, since
// its disk stands still as it is and its memory can't be brought back.
//
//	step      before it                  after it                   its undo
//	(request) nothing                    the image waits in Glance, the image is deleted
//	                                     the ledger has it
//	guest     the same                   one that ran is off        it is started, or its
//	                                                                host owes that
//	snapshot  the same                   a copy of the disk is on   the copy is removed, or
//	                                     the host                   owed by the host
//	upload    the same                   the image is active, the   none of its own: the
//	                                     copy is gone               image is deleted
//	shelve    the same                   the guest is off for good  none: what is on the
//	                                                                shelf can be unshelved
//	offload   the server is off, its     guest, connections of      none; what can't go now
//	          image has its data         volumes, bindings of ports is owed, and a claim for
//	                                     and claim are gone, last   as long as the guest may
//	                                     made first; volumes stay   still be there
//	                                     reserved, ports its own
//	finish    the same                   SHELVED or SHELVED_OFFLOADED, the image is the
//	                                     server's: the state is published last
//
//	cancelled or failed before shelve: as it was, or a debt of who is down

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Shelve is the workflow of operations.ServerShelve and ServerShelveOffload.
func Shelve(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	before := unchanged()
	now, err := shelve(s)
	if err != nil && now == nil {
		before, err = notShelved(s, err)
	}
	return s.Close(saga.Outcome{Server: now, OnFailure: before}, err)
}

func shelve(s *saga.Saga) (*steps.ServerOutcome, error) {
	if s.Begun.Kind == operations.ServerShelveOffload || s.Begun.Step == operations.StepShelve || s.Begun.Step == operations.StepOffload {
		return shelveAgain(s)
	}
	if s.Begun.Step == operations.StepUndo {
		return nil, errInterrupted // an earlier run was lost while it took this back
	}
	asked, err := saga.Input[steps.ShelveInput](s)
	if err != nil {
		return nil, err
	}
	if err := halt(s); err != nil {
		return nil, err
	}
	if asked.ImageID != "" {
		if err := captureDisk(s, asked.ImageID); err != nil {
			return nil, err
		}
	}
	return shelveAgain(s)
}

// halt turns off the guest of a server that runs.
func halt(s *saga.Saga) error {
	host := s.Begun.Server.Host
	switch {
	case host == "":
		return faults.New(faults.Conflict, "InstanceNotReady", "Instance %s is not ready", s.Begun.ResourceID)
	case s.Begun.Server.VMState != vmActive:
		return nil
	}
	err := s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectHalt, Ref: s.Begun.ResourceID, Host: host}},
	})
	if err != nil {
		return err
	}
	_, err = drive(s, s.Context(), host, steps.PowerStop)
	return err
}

// shelveAgain does what is beyond the point of no return, perhaps once more: it
// never fails for want of a host or a service, which owe what they hold.
func shelveAgain(s *saga.Saga) (*steps.ServerOutcome, error) {
	host := s.Begun.Server.Host
	shelved := &steps.ServerOutcome{VMState: new(vmShelved), PowerState: new(powerOff)}
	offload := true
	if err := s.Step(operations.StepShelve, saga.Move{Host: host}); err != nil {
		return nil, err
	}
	if shelving(s) {
		asked, err := saga.Input[steps.ShelveInput](s)
		if err != nil {
			return nil, err
		}
		offload = asked.Offload
		shelved.Shelved = &steps.ShelvedOutcome{On: true, ImageID: asked.ImageID}
	}
	if !offload {
		_, err := drive(s, s.Context(), host, steps.PowerForceStop)
		if steps.IsSuperseded(err) {
			return nil, err
		} else if err != nil {
			shelved.PowerState = new(powerNone) // nobody knows
		}
		return shelved, nil
	}
	err := s.TakeAwayOnly(operations.StepOffload, host, offHost(s.Begun.Server.Holds), onHost...)
	if err != nil {
		return nil, err
	}
	shelved.VMState, shelved.Host = new(vmOffloaded), new("")
	return shelved, nil
}

// shelving tells a shelve, or the recovery of one, from what only offloads.
func shelving(s *saga.Saga) bool {
	if dead := s.Begun.Recovers; dead != nil {
		return dead.Kind == operations.ServerShelve
	}
	return s.Begun.Kind == operations.ServerShelve
}

// onHost are the effects that bind a server to its host.
var onHost = []operations.EffectKind{operations.EffectClaim, operations.EffectBindings, operations.EffectConnections, operations.EffectGuest}

// offHost are the ledger lines of an operation that takes a server off its host
// and leaves it what it has elsewhere.
func offHost(holds []operations.Effect) []operations.Effect {
	holds = slices.Clone(holds)
	for i := range holds {
		switch holds[i].Kind {
		case operations.EffectPorts:
			holds[i].Kind = operations.EffectBindings
		case operations.EffectVolumes:
			holds[i].Kind = operations.EffectConnections
		}
	}
	return holds
}

// notShelved takes back what was done, and says what is true then.
func notShelved(s *saga.Saga, why error) (*steps.ServerOutcome, error) {
	if steps.IsSuperseded(why) {
		return nil, why
	}
	if err := s.UndoAll(saga.Reason(why).Message); err != nil {
		return nil, err
	}
	return startOwed(s, unchanged()), why
}

// startOwed is now, but that nobody knows how a guest is whose start is owed.
func startOwed(s *saga.Saga, now *steps.ServerOutcome) *steps.ServerOutcome {
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectHalt && e.State == operations.Owed {
			now.PowerState = new(powerNone)
		}
	}
	return now
}
