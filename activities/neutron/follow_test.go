package neutron_test

import "holdfast.dev/internal/steps"

// elsewhere is a server whose guest has left the host that its ports are bound to.
func elsewhere(w *world) error {
	if err := allocated(w); err != nil {
		return err
	}
	for _, r := range w.rows() {
		w.ports[r.PortID]["binding:host_id"] = "h0"
	}
	return nil
}

func follow(w *world) error {
	_, err := w.a.Follow(w.Context(), steps.FollowIn{Fence: w.fence, HostID: w.host})
	return err
}
