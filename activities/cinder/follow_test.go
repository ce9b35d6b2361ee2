package cinder_test

import "holdfast.dev/internal/steps"

func follow(w *world) error {
	_, err := w.a.Follow(w.Context(), steps.FollowIn{Fence: w.fence, HostID: w.host})
	return err
}

func move(w *world) error {
	_, err := w.a.Move(w.Context(), steps.FollowIn{Fence: w.fence, HostID: w.host})
	return err
}

// wantFollowed: every volume has one attachment, which is complete.
func wantFollowed(w *world) {
	w.Helper()
	if len(w.volumes) != 3 || len(w.attachments) != 3 {
		w.Errorf("volumes %v, attachments %v", w.volumes, w.attachments)
	}
	for _, d := range w.devices() {
		if at := w.attachments[d.AttachmentID]; d.IsVolume() && (at == nil || at["status"] != "attached" || w.volumes[d.VolumeID]["status"] != "in-use") {
			w.Errorf("device %+v, its attachment %v, its volume %v", d, at, w.volumes[d.VolumeID])
		}
	}
}
