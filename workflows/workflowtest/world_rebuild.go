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

// checkRebuild: a row that says what the server was before is never that of a
// guest that is new, and one of a rebuild that is done never of an old one.
func (w *World) checkRebuild(t *testing.T) {
	t.Helper()
	h := w.Hosts[w.Server.Host]
	if w.Op.Kind != operations.ServerRebuild && (w.Recovers == nil || w.Recovers.Kind != operations.ServerRebuild) || h == nil || w.Server.Deleted {
		return
	}
	if h.Image != "" && w.Server.Rebuilt != h.Image || w.Server.Rebuilt != "" && w.Op.Result == operations.ResultDone && h.Image != w.Server.Rebuilt {
		t.Errorf("the row says that the server is %q, its guest is %q", w.Server.Rebuilt, h.Image)
	}
}
