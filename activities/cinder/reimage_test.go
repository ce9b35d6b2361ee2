package cinder_test

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

func reimage(w *world) error {
	_, err := w.a.Reimage(w.Context(), steps.ReimageIn{Fence: w.fence, HostID: w.host, VolumeID: one, ImageID: "newer"})
	return err
}

// wantRefilled: the volume was filled once, or once more if nobody knows whether it
// was, and all are in use on the host with one attachment each.
func wantRefilled(w *world) {
	w.Helper()
	if v := w.volumes[one]; v["image"] != "newer" || v["status"] != "in-use" || w.refills > 2 {
		w.Errorf("the volume is %v, filled %d times", v, w.refills)
	}
	wantFollowed(w)
}

// A volume that takes longer than a call is asked about again; one that Cinder can't
// fill fails the step.
func TestReimageTakesItsTime(t *testing.T) {
	t.Parallel()
	w := ready(t, inUse)
	w.slow = 1 << 20
	for range 2 {
		out, err := w.a.Reimage(t.Context(), steps.ReimageIn{Fence: w.fence, HostID: w.host, VolumeID: one, ImageID: "newer"})
		if err != nil || !out.Pending {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if w.refills != 1 {
		t.Errorf("it was filled %d times", w.refills)
	}
	w.volumes[one]["status"] = "error"
	if err := reimage(w); !faults.Is(err, faults.Conflict) {
		t.Errorf("%v", err)
	}
}
