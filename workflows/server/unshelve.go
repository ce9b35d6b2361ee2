package server

// Unshelve has a shelved server run again: where it is, or, if it has left its
// host, where there is room, from the image that was made of it.
//
//	SHELVED ──keep──► the guest runs, its image goes ──► ACTIVE
//	SHELVED_OFFLOADED ──schedule──► claim ──network──► ports there ──volumes──► volumes there
//	        ▲                                                           │
//	        │ undone or owed, next host or none                       guest
//	        └──────────────────────────────────────────────────────────┴──keep──► its image goes ──► ACTIVE
//
// Point of no return: the step keep. From there on the server runs, and nobody
// needs the image.
//
//	step      before it                  after it                    its undo
//	schedule  on the shelf, nothing on   room is claimed on a host   the room is given back,
//	          any host                                               or owed with the guest
//	network   the same                   its ports are bound there   they are unbound, and
//	                                                                 stay the server's
//	volumes   the same                   its volumes are connected   they are reserved again,
//	                                     there                       and stay the server's
//	guest     the same                   the guest runs there        domain and disks are
//	                                                                 removed, or owed
//	keep      the same; of one that was  the guest runs, the image   none: what Glance can't
//	          on its host nothing        is deleted                  delete now it owes
//	finish    the same                   ACTIVE; claim, ports, volumes and guest are the
//	                                     server's own
//
//	cancelled, failed or out of time before keep: on the shelf as it was, with its
//	image, or a debt of who is down; there the original left one for which there
//	was no host in "unshelving" for ever

import (
	"cmp"
	"errors"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Unshelve is the workflow of operations.ServerUnshelve.
func Unshelve(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := unshelve(s)
	return s.Close(saga.Outcome{Server: now, OnFailure: cmp.Or(now, unchanged())}, err)
}

func unshelve(s *saga.Saga) (*steps.ServerOutcome, error) {
	if s.Begun.Step == operations.StepKeep || s.Begun.Server.Host != "" {
		return keep(s)
	}
	asked, err := saga.Input[steps.UnshelveInput](s)
	if err != nil {
		return nil, err
	}
	if err := loose(s); err != nil {
		return nil, err
	}
	for {
		host, err := schedule(s, &asked.Destination)
		if err != nil {
			return nil, err
		}
		if _, err = equip(s, host); err == nil {
			return keep(s)
		}
		if !anotherHostMayDo(err) {
			return nil, err
		}
		if err := leaveHost(s, err); err != nil {
			return nil, err
		}
	}
}

// loose begins where the operation that was here before left off: an earlier run
// of this one that was lost while it left a host, or an offload whose
// connections are still owed, which would be taken for those of the next host.
func loose(s *saga.Saga) error {
	switch {
	case s.Begun.Step == operations.StepUndo:
		return leaveHost(s, errors.New("the attempt was interrupted"))
	case s.Begun.Step == "" && s.Begun.Server.Volumes > 0:
		return steps.Cinder.Disconnect(s.Context(), steps.DisconnectIn{Fence: s.Fence})
	}
	return nil
}

// keep ends the server's time on the shelf, perhaps once more: its guest runs,
// and its image goes.
func keep(s *saga.Saga) (*steps.ServerOutcome, error) {
	asked, err := saga.Input[steps.UnshelveInput](s)
	if err != nil {
		return nil, err
	}
	host := landed(s)
	if err := s.Step(operations.StepKeep, saga.Move{Host: host}); err != nil {
		return nil, err
	}
	if s.Begun.Server.Host != "" {
		if _, err := powers[operations.ServerStart].cutShort(s, host); err != nil {
			return unknown(), err
		}
	}
	var image []operations.Effect
	if id := s.Begun.Server.ShelvedImage; id != "" {
		image = append(image, operations.Effect{Kind: operations.EffectImage, Ref: id})
	}
	if err := s.TakeAwayOnly(operations.StepKeep, host, image, operations.EffectImage); err != nil {
		return nil, err
	}
	now := running(host, powerRunning)
	now.Shelved, now.Zone = &steps.ShelvedOutcome{}, asked.Destination.Zone
	return now, nil
}

// landed is the host that the server runs on: its own, or the one on which the
// ledger says that its guest was made.
func landed(s *saga.Saga) string {
	host := s.Begun.Server.Host
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectGuest && e.Open() {
			host = e.Host
		}
	}
	return host
}
