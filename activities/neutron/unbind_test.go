package neutron_test

import "holdfast.dev/internal/steps"

func unbind(w *world) error {
	_, err := w.a.Unbind(w.Context(), steps.UnbindIn{Fence: w.fence})
	return err
}

// wantUnbound: the ports are on no host, and still the server's.
func wantUnbound(w *world) {
	w.Helper()
	for i, r := range w.rows() {
		p := w.ports[r.PortID]
		if p["binding:host_id"] != "" || p["device_id"] != w.server || p["device_owner"] != "compute:nova" {
			w.Errorf("port %v", p)
		}
		if !r.Bound || r.Active || r.VIFType != "" || len(r.FixedIPs) == 0 {
			w.Errorf("row %d is %+v", i, r)
		}
	}
}
