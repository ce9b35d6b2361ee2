package workflowtest

// Servers that leave a host that is down.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Evacuate gives the operation how a server is to leave its host, which is down.
func (w *World) Evacuate(asked steps.EvacuateInput) *World {
	return w.input(asked).Down(w.Server.Host)
}

func (c cinder) Move(_ context.Context, in steps.FollowIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.Move", in.Fence, func() (struct{}, error) {
		switch h := w.Hosts[in.HostID]; {
		case w.Cinder.Down:
			return struct{}{}, errDown
		case w.Cinder.Missing:
			return struct{}{}, faults.New(faults.NotFound, "VolumeNotFound", "Volume v could not be found.")
		case len(h.Claims) == 0:
			w.broke("volumes were taken to %s without room there", in.HostID)
		}
		w.Cinder.Attached, w.Cinder.InUse = in.HostID, true
		return struct{}{}, nil
	})
}

// payMove is PayDebts for what is at another host than the server.
func (w *World) payMove(e operations.Effect) {
	switch e.Kind {
	case operations.EffectMovedPorts:
		w.Neutron.Bound = w.Server.Host
	case operations.EffectMovedVolumes:
		w.Cinder.Attached = w.Server.Host
	}
}
