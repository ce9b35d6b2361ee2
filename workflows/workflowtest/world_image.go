package workflowtest

// Glance in the world: the image that is made of the server, and the copies of
// its disk on hosts.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// ImageID is the image that a request for one has made.
const ImageID = "1c3d0a52-7a41-4d8e-8b43-51a0d6a3c0de"

// Glance is what the image service has of the server.
type Glance struct {
	// Made says that a request has made the image, Status is Glance's; empty is
	// an image that is gone.
	Made   bool
	Status string
	// OfShelf says that the server was shelved with the image before the operation
	// began.
	OfShelf bool
	// Backups is how many images of the backup's type there are besides.
	Backups int
	// Snapshots says that volumes have the snapshots that the image stands on.
	Snapshots bool
	// Copies are the hosts with a copy of the server's disk.
	Copies map[string]bool
	// Down answers nothing, Full takes no data.
	Down, Full bool
}

// Image gives the operation an image that its request has made.
func (w *World) Image(input steps.ImageInput) *World {
	input.ImageID, input.Name = ImageID, "image"
	var err error
	if w.Op.Input, err = json.Marshal(input); err != nil {
		w.broke("the input: %v", err)
	}
	w.Glance.Made, w.Glance.Status = true, "queued"
	w.intend(operations.Effect{Kind: operations.EffectImage, Ref: ImageID, Attempt: 1})
	return w
}

// String is the part of World.String that is Glance's.
func (g Glance) String() string {
	return fmt.Sprintf("image %q, %d backups, snapshots %t, copies %v", g.Status, g.Backups, g.Snapshots, slices.Sorted(maps.Keys(g.Copies)))
}

// pay is PayDebts for one effect of images.
func (g *Glance) pay(e operations.Effect) {
	switch e.Kind {
	case operations.EffectImage:
		g.Status = ""
	case operations.EffectSnapshots:
		g.Snapshots = false
	case operations.EffectSnapshotFile:
		delete(g.Copies, e.Host)
	}
}

// checkImages: the image is there exactly if the operation is done, or if it is
// owed; no copy is left that nobody owes.
func (w *World) checkImages(t *testing.T) {
	t.Helper()
	g := w.Glance
	if !g.Made {
		return
	}
	if g.OfShelf {
		w.checkShelf(t)
		return
	}
	undone := w.Op.Result != operations.ResultDone || w.Recovers != nil && !w.kept()
	switch {
	case !undone && g.Status != "active":
		t.Errorf("the image is %q of an operation that is done", g.Status)
	case undone && g.Status != "" && !w.owes(operations.EffectImage, ""):
		t.Errorf("the image is %q of an operation that was undone", g.Status)
	case undone && g.Snapshots && !w.owes(operations.EffectSnapshots, ""):
		t.Error("snapshots of volumes are left")
	}
	for host := range g.Copies {
		if !w.owes(operations.EffectSnapshotFile, host) {
			t.Errorf("a copy of the disk is left on %s", host)
		}
	}
}

// kept says that a recovery has finished what was lost.
func (w *World) kept() bool {
	spec, _ := operations.Lookup(w.Recovers.Kind)
	return spec.Beyond(w.Recovers.Step)
}

func (l libvirt) Snapshot(ctx context.Context, in steps.SnapshotIn) (struct{}, error) {
	out, err := onHost(ctx, l, "libvirt.Snapshot", in.Token, func(h *Host) (struct{}, error) {
		switch {
		case !h.Guests[in.Token.ServerID]:
			return struct{}{}, faults.New(faults.NotFound, "InstanceNotFound", "the host has no such guest")
		case h.Broken:
			return struct{}{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		}
		if l.w.Glance.Copies == nil {
			l.w.Glance.Copies = map[string]bool{}
		}
		l.w.Glance.Copies[l.at(ctx)] = true
		return struct{}{}, nil
	})
	if l.w.Linger && err == nil {
		return out, linger(ctx)
	}
	return out, err
}

func (l libvirt) Upload(ctx context.Context, in steps.UploadIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.Upload", in.Token, func(*Host) (struct{}, error) {
		g := &l.w.Glance
		switch {
		case g.Down:
			return struct{}{}, errDown
		case g.Full:
			return struct{}{}, faults.New(faults.OverLimit, "ImageQuotaExceeded", "Quota exceeded or out of space for image %s in the image service.", in.ImageID)
		case g.Status != "active" && !g.Copies[l.at(ctx)]:
			l.w.broke("an upload of no copy")
		case in.ImageID != ImageID || g.Status == "":
			return struct{}{}, faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", in.ImageID)
		}
		g.Status = "active"
		delete(g.Copies, l.at(ctx))
		return struct{}{}, nil
	})
}

func (l libvirt) DropSnapshot(ctx context.Context, in steps.DropSnapshotIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.DropSnapshot", in.Token, func(*Host) (struct{}, error) {
		delete(l.w.Glance.Copies, l.at(ctx))
		return struct{}{}, nil
	})
}

func (c cinder) Snapshot(_ context.Context, in steps.SnapshotVolumesIn) (steps.SnapshotVolumesOut, error) {
	w := c.w
	return fenced(w, "cinder.Snapshot", in.Fence, func() (steps.SnapshotVolumesOut, error) {
		if w.Cinder.Down {
			return steps.SnapshotVolumesOut{}, errDown
		}
		w.Glance.Snapshots = true
		return steps.SnapshotVolumesOut{Snapshots: []steps.VolumeSnapshot{{ID: "s"}}}, nil
	})
}

func (c cinder) DropSnapshots(_ context.Context, in steps.DropSnapshotsIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.DropSnapshots", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		w.Glance.Snapshots = false
		return struct{}{}, nil
	})
}

type glance struct{ w *World }

func (g glance) Fill(_ context.Context, in steps.FillIn) (struct{}, error) {
	w := g.w
	return fenced(w, "glance.Fill", in.Fence, func() (struct{}, error) {
		switch {
		case w.Glance.Down:
			return struct{}{}, errDown
		case len(in.Snapshots) == 0 || !w.Glance.Snapshots:
			w.broke("an image of volumes stands on nothing")
		case w.Glance.Status == "":
			return struct{}{}, faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", in.ImageID)
		}
		w.Glance.Status = "active"
		return struct{}{}, nil
	})
}

func (g glance) Rotate(_ context.Context, in steps.RotateIn) (struct{}, error) {
	w := g.w
	return fenced(w, "glance.Rotate", in.Fence, func() (struct{}, error) {
		if w.Glance.Down {
			return struct{}{}, errDown
		}
		if w.Glance.Status != "active" {
			w.broke("backups were rotated before the new one was there")
		}
		w.Glance.Backups = min(w.Glance.Backups, max(in.Rotation-1, 0))
		return struct{}{}, nil
	})
}

func (g glance) Delete(_ context.Context, in steps.DeleteImageIn) (struct{}, error) {
	w := g.w
	return fenced(w, "glance.Delete", in.Fence, func() (struct{}, error) {
		if w.Glance.Down {
			return struct{}{}, errDown
		}
		if in.ImageID != ImageID {
			w.broke("another's image %q was deleted", in.ImageID)
		}
		w.Glance.Status = ""
		return struct{}{}, nil
	})
}
