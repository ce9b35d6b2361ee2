package server

// The ports of a server: given before its guest is made, waited for once it runs.

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// plugging is how long Neutron may take to plug a server's ports.
type plugging struct {
	ports    int
	patience time.Duration
	fatal    bool
}

// connect gives the server the ports it asks for, bound to the host.
func connect(s *saga.Saga, host string) (plugging, error) {
	if s.Begun.Server.Ports == 0 {
		return plugging{}, nil
	}
	err := s.Step(operations.StepNetwork, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: kindFor(s, operations.EffectPorts), Ref: s.Begun.ResourceID}},
	})
	if err != nil {
		return plugging{}, err
	}
	out, err := steps.Neutron.Allocate(s.Context(), steps.AllocateIn{Fence: s.Fence, HostID: host})
	if err != nil {
		return plugging{}, notConnected(s, err)
	}
	return plugging{ports: out.Ports, patience: out.PlugPatience, fatal: out.PlugFatal}, nil
}

// kindFor is what an operation that gives a server something on a host takes
// back: all of it, or, where the server had it before, only that it is there.
func kindFor(s *saga.Saga, made operations.EffectKind) operations.EffectKind {
	if kind, ok := given[s.Begun.Kind][made]; ok {
		return kind
	}
	return made
}

// given are what operations on servers that were built before do not make.
var given = map[operations.Kind]map[operations.EffectKind]operations.EffectKind{
	operations.ServerUnshelve: {operations.EffectPorts: operations.EffectBindings, operations.EffectVolumes: operations.EffectConnections},
	operations.ServerEvacuate: {operations.EffectPorts: operations.EffectMovedPorts, operations.EffectVolumes: operations.EffectMovedVolumes},
}

// notConnected has the words of the original's BuildAbortException. No other
// host is tried, unless the ports couldn't be bound to this one.
func notConnected(s *saga.Saga, err error) error {
	f := steps.Decode(err)
	switch {
	case temporal.IsCanceledError(err), errors.Is(err, steps.ErrDeadline):
		return err
	case f == nil:
		return aborted(s, errNoNetwork, "Failed to allocate the network(s), not rescheduling.")
	case f.Kind == faults.Superseded, f.Kind == faults.NoCapacity:
		return err
	case f.Kind.Retryable():
		return aborted(s, f, "Failed to allocate the network(s), not rescheduling.")
	}
	return aborted(s, f, "Failed to allocate the network(s) with error "+f.Message+", not rescheduling.")
}

// aborted is a build that no other host is tried for.
func aborted(s *saga.Saga, why *faults.Error, reason string) error {
	return faults.New(faults.Internal, why.Code, "Build of instance %s aborted: %s", s.Begun.ResourceID, reason)
}

// plugged is await for a build.
func (p plugging) plugged(s *saga.Saga) error {
	err := p.await(s)
	if errors.Is(err, errNotPlugged) {
		return aborted(s, errNotPlugged, "Failed to allocate the network(s), not rescheduling.")
	}
	return err
}

// await waits until Neutron has plugged every port, or its time is over. What
// it says comes by the inbox, a knock for each.
func (p plugging) await(s *saga.Saga) error {
	if p.ports == 0 {
		return nil
	}
	until := workflow.Now(s.Context()).Add(p.patience)
	for {
		out, err := steps.Records.Plugged(s.Context(), steps.PluggedIn{Fence: s.Fence})
		if err != nil {
			return err
		}
		left := until.Sub(workflow.Now(s.Context()))
		switch {
		case p.fatal && (len(out.Failed) > 0 || len(out.Waiting) > 0 && left <= 0):
			return errNotPlugged
		case len(out.Waiting) == 0 || left <= 0:
			return nil
		}
		if err := saga.Wait(s.Context(), left, "Neutron plugs the server's ports"); err != nil {
			return err
		}
	}
}

var (
	errNoNetwork  = faults.New(faults.Unavailable, "NetworkServiceUnavailable", "the network service did not answer in time")
	errNotPlugged = faults.New(faults.Unavailable, "VirtualInterfaceCreateException", "Virtual Interface creation failed")
)
