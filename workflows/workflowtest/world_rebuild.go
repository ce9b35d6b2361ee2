package workflowtest

// Guests that are made anew.

import (
	"context"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

func (l libvirt) PrepareImage(ctx context.Context, in steps.PrepareImageIn) (struct{}, error) {
	lingers := false
	out, err := onHost(ctx, l, "libvirt.PrepareImage", in.Token, func(h *Host) (struct{}, error) {
		if l.w.BadImage {
			return struct{}{}, faults.New(faults.Invalid, "ImageUnacceptable", "Image is unacceptable: not what it claims to be")
		}
		lingers, l.w.Linger = l.w.Linger, false
		return struct{}{}, nil
	})
	if lingers && err == nil {
		return out, linger(ctx)
	}
	return out, err
}

func (l libvirt) Rebuild(ctx context.Context, in steps.RebuildIn) (steps.PowerOut, error) {
	return onHost(ctx, l, "libvirt.Rebuild", in.Token, func(h *Host) (steps.PowerOut, error) {
		switch {
		case h.Broken:
			return steps.PowerOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case len(h.Claims) != 1 || !h.Claims[in.Token.ServerID]:
			l.w.broke("a guest was rebuilt with claims %v", h.Claims)
		}
		h.Guests[in.Token.ServerID], h.Image, h.Power = true, in.Spec.Name, 1
		if in.Off {
			h.Power = 4
		}
		return steps.PowerOut{PowerState: h.Power}, nil
	})
}

// Reimage fills the volume at the second call, while its guest is off.
func (c cinder) Reimage(_ context.Context, in steps.ReimageIn) (steps.ReimageOut, error) {
	w := c.w
	return fenced(w, "cinder.Reimage", in.Fence, func() (steps.ReimageOut, error) {
		switch h := w.Hosts[in.HostID]; {
		case w.Cinder.Down:
			return steps.ReimageOut{}, errDown
		case w.Cinder.Missing:
			return steps.ReimageOut{}, faults.New(faults.NotFound, "VolumeNotFound", "Volume v could not be found.")
		case h.Power == 1:
			w.broke("a volume was filled under the guest that runs from it")
		}
		if w.Cinder.looks++; w.Cinder.looks <= w.Cinder.Slow {
			return steps.ReimageOut{Pending: true}, nil
		}
		w.Cinder.Filled = in.ImageID
		return steps.ReimageOut{}, nil
	})
}

// checkRebuild: a row that says what the server was before is never that of a
// guest that is new, and one of a rebuild that is done never of an old one.
func (w *World) checkRebuild(t *testing.T) {
	t.Helper()
	h := w.Hosts[w.Server.Host]
	if w.Op.Kind != operations.ServerRebuild && (w.Recovers == nil || w.Recovers.Kind != operations.ServerRebuild) || h == nil || w.Server.Deleted {
		return
	}
	if w.Refills && w.Op.Result == operations.ResultDone && w.Op.Kind == operations.ServerRebuild && w.Cinder.Filled == "" {
		t.Error("the volume that the guest boots from has not been filled")
	}
	if h.Image != "" && w.Server.Rebuilt != h.Image || w.Server.Rebuilt != "" && w.Op.Result == operations.ResultDone && h.Image != w.Server.Rebuilt {
		t.Errorf("the row says that the server is %q, its guest is %q", w.Server.Rebuilt, h.Image)
	}
}
