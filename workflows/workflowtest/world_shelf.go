package workflowtest

// Ports and volumes that leave their host and stay the server's.

import (
	"context"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

func (n neutron) Unbind(_ context.Context, in steps.UnbindIn) (struct{}, error) {
	w := n.w
	return fenced(w, "neutron.Unbind", in.Fence, func() (struct{}, error) {
		if w.Neutron.Down {
			return struct{}{}, errDown
		}
		w.underGuest("ports")
		w.Neutron.Bound = ""
		return struct{}{}, nil
	})
}

func (c cinder) Disconnect(_ context.Context, in steps.DisconnectIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.Disconnect", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		w.underGuest("volumes")
		w.Cinder.Attached, w.Cinder.InUse = "", false
		return struct{}{}, nil
	})
}

// underGuest: what a guest has is taken only when it is gone, or owed.
func (w *World) underGuest(what string) {
	for name, h := range w.Hosts {
		if h.Guests[ServerID] && !w.owes(operations.EffectGuest, name) {
			w.broke("%s were taken from under the guest on %s", what, name)
		}
	}
}
