package workflowtest

// The services beside the hosts: Neutron with the server's ports.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// PlugPatience is how long the model's Neutron may take.
const PlugPatience = 5 * time.Minute

type neutron struct{ w *World }

func (n neutron) Allocate(_ context.Context, in steps.AllocateIn) (steps.AllocateOut, error) {
	w := n.w
	return fenced(w, "neutron.Allocate", in.Fence, func() (steps.AllocateOut, error) {
		switch {
		case !w.Hosts[in.HostID].Claims[ServerID]:
			w.broke("ports were bound to %s without room there", in.HostID)
		case w.Neutron.Full:
			return steps.AllocateOut{}, faults.New(faults.OverLimit, "PortLimitExceeded", "Maximum number of ports exceeded")
		case w.Neutron.Unbindable == in.HostID:
			return steps.AllocateOut{}, faults.New(faults.NoCapacity, "PortBindingFailed", "Binding failed for port p, please check neutron logs for more information.")
		}
		w.Neutron.Bound = in.HostID
		return steps.AllocateOut{Ports: w.Neutron.Asked, PlugPatience: PlugPatience, PlugFatal: true}, nil
	})
}

func (n neutron) Deallocate(_ context.Context, in steps.DeallocateIn) (struct{}, error) {
	w := n.w
	return fenced(w, "neutron.Deallocate", in.Fence, func() (struct{}, error) {
		for name, h := range w.Hosts {
			if h.Guests[ServerID] && !w.owes(operations.EffectGuest, name) {
				w.broke("ports were taken from under the guest on %s", name)
			}
		}
		w.Neutron.Bound = ""
		return struct{}{}, nil
	})
}

// Plugged has them plugged at the second look, or never.
func (r records) Plugged(_ context.Context, in steps.PluggedIn) (steps.PluggedOut, error) {
	w := r.w
	return fenced(w, "records.Plugged", in.Fence, func() (steps.PluggedOut, error) {
		w.Neutron.looks++
		switch {
		case w.Neutron.Fails:
			return steps.PluggedOut{Failed: []string{"p"}}, nil
		case w.Neutron.Silent, w.Neutron.Slow && w.Neutron.looks == 1:
			return steps.PluggedOut{Waiting: []string{"p"}}, nil
		}
		return steps.PluggedOut{}, nil
	})
}
