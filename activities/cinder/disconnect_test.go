package cinder_test

import "holdfast.dev/internal/steps"

func disconnect(w *world) error {
	_, err := w.a.Disconnect(w.Context(), steps.DisconnectIn{Fence: w.fence})
	return err
}

// wantReserved: every volume is the server's by an attachment that no host has.
func wantReserved(w *world) {
	w.Helper()
	if len(w.volumes) != 3 || len(w.attachments) != 3 {
		w.Errorf("volumes %v, attachments %v", w.volumes, w.attachments)
	}
	for _, d := range w.devices() {
		if at := w.attachments[d.AttachmentID]; d.IsVolume() && (at == nil || at["status"] != "reserved" || w.volumes[d.VolumeID]["status"] == "available") {
			w.Errorf("device %+v, its attachment %v, its volume %v", d, at, w.volumes[d.VolumeID])
		}
	}
}
