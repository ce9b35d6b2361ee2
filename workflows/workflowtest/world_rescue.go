package workflowtest

// Guests that run from a rescue image.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Rescue is that of a host's guest.
type Rescue struct {
	// On says that the guest runs from the image.
	On bool
	// Before is the power of the guest before.
	Before int
}

// leave has the guest run from its own disk, or be as it was.
func (h *Host) leaveRescue(action steps.PowerAction) {
	switch {
	case action == steps.PowerUnrescue:
		h.Power = 1
	case h.Rescue.On:
		h.Power = h.Rescue.Before
	}
	h.Rescue = Rescue{}
}

func (l libvirt) Rescue(ctx context.Context, in steps.RescueIn) (steps.PowerOut, error) {
	var lingers bool
	out, err := onHost(ctx, l, "libvirt.Rescue", in.Token, func(h *Host) (steps.PowerOut, error) {
		switch {
		case !h.Guests[in.Token.ServerID]:
			return steps.PowerOut{}, faults.New(faults.NotFound, "InstanceNotFound", "the host has no such guest")
		case h.Broken:
			return steps.PowerOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case l.w.Linger:
			l.w.Linger, lingers = false, true
		}
		if !h.Rescue.On {
			h.Rescue = Rescue{On: true, Before: h.Power}
		}
		h.Power = 1
		return steps.PowerOut{PowerState: h.Power}, nil
	})
	if lingers {
		return out, linger(ctx)
	}
	return out, err
}
