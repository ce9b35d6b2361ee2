package server

// AttachInterface gives a port to a server, and to its guest while that runs.
//
//	as it was ──network──► Neutron has bound the port ──guest──► the guest has the interface ──► attached
//	    ▲                      │                           │ failed, cancelled
//	    └──────────────────────┴───────────────────────────┘
//
// It has no point of no return: until it has finished, it can be undone. It
// shares the server with others of its like, one after the other, and shows no
// task.
//
//	step     before it                     after it                  undo
//	network  the row has the interface's   the port is there, bound  a port of ours is deleted, a
//	         place; Neutron knows nothing  to the host               user's own is free; the row goes
//	guest    the same                      the guest has the         the guest lets go of it
//	                                       interface, running or not
//	finish   the same                      the same
//
// The original doesn't wait for Neutron to plug the port, and so it is here.

import (
	"slices"
	"strconv"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// AttachInterface is the workflow of operations.ServerAttachInterface.
func AttachInterface(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	return s.Close(saga.Outcome{}, attachInterface(s))
}

func attachInterface(s *saga.Saga) error {
	asked, err := saga.Input[steps.InterfaceInput](s)
	if err != nil {
		return err
	}
	host := s.Begun.Server.Host
	err = s.Step(operations.StepNetwork, saga.Move{Host: host, Intend: []operations.Effect{portEffect(asked)}})
	if err != nil {
		return err
	}
	bound, err := steps.Neutron.Allocate(s.Context(), steps.AllocateIn{Fence: s.Fence, HostID: host, Position: &asked.Position})
	if err != nil {
		return err
	}
	spec, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(spec.Ports, func(p steps.Port) bool { return p.ID == bound.PortID })
	if i < 0 {
		return faults.New(faults.Internal, "PortNotFound", "Port id %s could not be found.", bound.PortID)
	}
	err = plugIn(s, host, bound.PortID, steps.PlugIn{Port: &spec.Ports[i]})
	if f := steps.Decode(err); f != nil && f.Kind != faults.Superseded {
		return faults.Wrap(f, faults.Internal, "InterfaceAttachFailed", "Failed to attach network adapter device to %s", s.Begun.ResourceID)
	}
	return err
}

func portEffect(asked steps.InterfaceInput) operations.Effect {
	return operations.Effect{Kind: operations.EffectPort, Ref: strconv.Itoa(asked.Position)}
}
