package workflowtest

// A volume of the server that another one is to take the place of, while the guest
// runs.

import (
	"context"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// NewVolumeID is the volume that is to take the place of the one with DeviceID.
const NewVolumeID = "7b1f0a52-2c8e-4f5b-9a0e-6d7c2f1e8a43"

// Swap is what row, service and guest have of it.
type Swap struct {
	// Asked says that the row names the new volume, Replaced that it is the server's.
	Asked, Replaced bool
	// Bound says that the service has the new volume for the server, Left that the
	// old one is the server's no more.
	Bound, Left bool
	// Cancelled says that the service has heard that the migration has failed.
	Cancelled bool
	// Moved says that the guest writes to the new volume.
	Moved bool
	// Refused is what the service says to it; Stuck is a guest that can't go on on it.
	Refused *faults.Error
	Stuck   bool
}

// WithSwap gives the world a volume, and another one that is to take its place.
func (w *World) WithSwap() *World {
	w.Swap = &Swap{Asked: true}
	w.Op.Input = []byte(`{"volume_id":"` + DeviceID + `","new_volume_id":"` + NewVolumeID + `"}`)
	w.hold(operations.Effect{Kind: operations.EffectNewVolume, Ref: NewVolumeID}, false)
	return w
}

// spec is what a host is told of it.
func (s *Swap) spec(spec *steps.ServerSpec) {
	if s != nil {
		spec.Volumes = append(spec.Volumes, steps.Volume{ID: DeviceID, AttachmentID: "old"})
	}
}

func (c cinder) BeginSwap(_ context.Context, in steps.SwapVolumeIn) (steps.BeginSwapOut, error) {
	w := c.w
	return fenced(w, "cinder.BeginSwap", in.Fence, func() (steps.BeginSwapOut, error) {
		switch {
		case w.Cinder.Down:
			return steps.BeginSwapOut{}, errDown
		case in.NewVolumeID != NewVolumeID || in.HostID != w.Server.Host:
			w.broke("volume %q was attached to %q", in.NewVolumeID, in.HostID)
		case w.Swap.Refused != nil:
			return steps.BeginSwapOut{}, w.Swap.Refused
		}
		w.Swap.Bound = true
		return steps.BeginSwapOut{AttachmentID: "new"}, nil
	})
}

func (c cinder) CancelSwap(_ context.Context, in steps.SwapVolumeIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.CancelSwap", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		w.Swap.cancel(w)
		return struct{}{}, nil
	})
}

func (s *Swap) cancel(w *World) {
	switch {
	case s.Replaced:
		w.broke("the volume that the server has was let go of")
	case s.Moved:
		w.broke("the volume that the guest writes to was let go of")
	}
	s.Asked, s.Bound, s.Cancelled = false, false, true
}

func (r records) ReplaceVolume(_ context.Context, in steps.ReplaceVolumeIn) (struct{}, error) {
	w := r.w
	return fenced(w, "records.ReplaceVolume", in.Fence, func() (struct{}, error) {
		if !w.Swap.Moved || in.NewVolumeID != NewVolumeID {
			w.broke("the server was given volume %q, which the guest doesn't write to", in.NewVolumeID)
		}
		w.Swap.Replaced = true
		return struct{}{}, nil
	})
}

func (c cinder) EndSwap(_ context.Context, in steps.SwapVolumeIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.EndSwap", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		w.Swap.end(w)
		return struct{}{}, nil
	})
}

func (s *Swap) end(w *World) {
	if !s.Replaced {
		w.broke("the volume that the server has was let go of")
	}
	s.Asked, s.Left = false, true
}

func (l libvirt) Swap(ctx context.Context, in steps.SwapIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.Swap", in.Token, func(h *Host) (struct{}, error) {
		switch s := l.w.Swap; {
		case !h.Guests[in.Token.ServerID]:
			return struct{}{}, faults.New(faults.NotFound, "GuestNotFound", "the host has no such guest")
		case h.Broken || s.Stuck:
			return struct{}{}, faults.New(faults.Unavailable, "VolumeRebaseFailed", "Volume rebase failed: no space left")
		case !s.Bound:
			l.w.broke("the guest was given what the service doesn't know of")
		case in.To != NewVolumeID || in.Volume.ID != DeviceID || in.Volume.AttachmentID != "new":
			l.w.broke("the guest was given something else: %+v", in)
		}
		l.w.Swap.Moved = true
		return struct{}{}, nil
	})
}

func (l libvirt) UndoSwap(ctx context.Context, in steps.UndoSwapIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.UndoSwap", in.Token, func(*Host) (struct{}, error) {
		if in.From != NewVolumeID || l.w.Swap.Replaced {
			l.w.broke("volume %q was taken from the guest", in.From)
		}
		l.w.Swap.Moved = false
		return struct{}{}, nil
	})
}

// owesSwapped says that a host owes the server the volume that its guest had.
func (w *World) owesSwapped() bool {
	for name := range w.Hosts {
		if w.owes(operations.EffectSwapped, name) {
			return true
		}
	}
	return false
}

// paySwap does what is owed of it.
func (w *World) paySwap(e operations.Effect) {
	switch e.Kind {
	case operations.EffectSwapped:
		w.Swap.Moved = false
	case operations.EffectNewVolume:
		w.Swap.cancel(w)
	case operations.EffectOldVolume:
		w.Swap.end(w)
	}
}

// checkSwap: row, service and guest have the same volume, but for what is owed; and the
// service has heard how it ended.
func (w *World) checkSwap(t *testing.T) {
	t.Helper()
	s := w.Swap
	if s == nil {
		return
	}
	owed := w.owes(operations.EffectNewVolume, "") || w.owes(operations.EffectOldVolume, "")
	if owed != s.Asked || !owed && (s.Left != s.Replaced || s.Bound != s.Replaced || s.Cancelled == s.Replaced) {
		t.Errorf("the swap is %+v, owed: %t", *s, owed)
	}
	home := w.Hosts[w.Server.Host]
	if home == nil || !home.Answers || w.owes(operations.EffectSwapped, w.Server.Host) {
		return
	}
	if s.Moved != s.Replaced {
		t.Errorf("the guest writes to the new volume: %t, the server has it: %t", s.Moved, s.Replaced)
	}
}
