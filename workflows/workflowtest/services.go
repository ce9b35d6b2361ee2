package workflowtest

// The services beside the hosts: Neutron with the server's ports, Cinder with
// its volumes.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// PlugPatience is how long the model's Neutron may take.
const PlugPatience = 5 * time.Minute

var errDown = faults.New(faults.Unavailable, "Down", "the service is down")

type neutron struct{ w *World }

func (n neutron) Allocate(_ context.Context, in steps.AllocateIn) (steps.AllocateOut, error) {
	w := n.w
	return fenced(w, "neutron.Allocate", in.Fence, func() (steps.AllocateOut, error) {
		switch {
		case w.Neutron.Down:
			return steps.AllocateOut{}, errDown
		case len(w.Hosts[in.HostID].Claims) == 0:
			w.broke("ports were bound to %s without room there", in.HostID)
		case w.Neutron.Full:
			return steps.AllocateOut{}, faults.New(faults.OverLimit, "PortLimitExceeded", "Maximum number of ports exceeded")
		case w.Neutron.Unbindable == in.HostID:
			return steps.AllocateOut{}, faults.New(faults.NoCapacity, "PortBindingFailed", "Binding failed for port p, please check neutron logs for more information.")
		}
		if in.Position != nil {
			if *in.Position != DevicePosition {
				w.broke("the port at %d was asked for", *in.Position)
			}
			return steps.AllocateOut{Ports: 1, PortID: DeviceID}, w.Device.bind()
		}
		w.runsElsewhere("ports", in.HostID)
		w.Neutron.Bound = in.HostID
		return steps.AllocateOut{Ports: w.Neutron.Asked, PlugPatience: PlugPatience, PlugFatal: true}, nil
	})
}

func (n neutron) Deallocate(_ context.Context, in steps.DeallocateIn) (struct{}, error) {
	w := n.w
	return fenced(w, "neutron.Deallocate", in.Fence, func() (struct{}, error) {
		if w.Neutron.Down {
			return struct{}{}, errDown
		}
		if in.Position != nil {
			w.forget()
			return struct{}{}, nil
		}
		for name, h := range w.Hosts {
			if h.Guests[ServerID] && !w.owes(operations.EffectGuest, name) {
				w.broke("ports were taken from under the guest on %s", name)
			}
		}
		w.Neutron.Bound = ""
		return struct{}{}, nil
	})
}

// Refresh is no operation's: the world has no addresses.
func (n neutron) Refresh(context.Context, struct{}) (steps.MaintenanceOut, error) {
	return steps.MaintenanceOut{}, nil
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

// Node is no server's: the world has no nodes.
func (r records) Node(context.Context, steps.NodeIn) (steps.NodeBrief, error) {
	return steps.NodeBrief{}, errInvalid
}

// VolumePatience is how long the model's Cinder may take.
const VolumePatience = time.Minute

type cinder struct{ w *World }

func (c cinder) Attach(_ context.Context, in steps.AttachIn) (steps.AttachOut, error) {
	w := c.w
	return fenced(w, "cinder.Attach", in.Fence, func() (steps.AttachOut, error) {
		out := steps.AttachOut{Patience: VolumePatience}
		switch {
		case w.Cinder.Down:
			return out, errDown
		case in.VolumeID != "":
			return out, w.Device.bind()
		case !w.Hosts[in.HostID].Claims[ServerID]:
			w.broke("volumes were attached to %s without room there", in.HostID)
		case w.Cinder.Missing:
			return out, faults.New(faults.NotFound, "VolumeNotFound", "Volume v could not be found.")
		}
		w.Cinder.Made, w.Cinder.looks = true, w.Cinder.looks+1
		if w.Cinder.looks <= w.Cinder.Slow {
			out.Pending, out.Status = "v", "creating"
			return out, nil
		}
		w.Cinder.Attached = in.HostID
		return out, nil
	})
}

func (c cinder) Complete(_ context.Context, in steps.CompleteIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.Complete", in.Fence, func() (struct{}, error) {
		if in.VolumeID != "" {
			w.Device.InUse = w.Device.Bound
			return struct{}{}, nil
		}
		if w.Cinder.Attached == "" {
			w.broke("volumes are in use that are attached to no host")
		}
		w.Cinder.InUse = true
		return struct{}{}, nil
	})
}

func (c cinder) Release(_ context.Context, in steps.ReleaseVolumesIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.Release", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		if in.VolumeID != "" {
			w.forget()
			return struct{}{}, nil
		}
		for name, h := range w.Hosts {
			if h.Guests[ServerID] && !w.owes(operations.EffectGuest, name) {
				w.broke("volumes were taken from under the guest on %s", name)
			}
		}
		if ends := w.Op.Kind == operations.ServerDelete || w.Recovers != nil && w.Recovers.Kind == operations.ServerDelete; in.Terminate != ends {
			w.broke("%s releases volumes as at the server's end: %t", w.Op.Kind, in.Terminate)
		}
		w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = false, "", false
		return struct{}{}, nil
	})
}
