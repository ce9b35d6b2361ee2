package bmc

// What a machine is made of, as its BMC tells.

import "net/http"

// inventoryRoutes are the resources below a system that are only read.
func (s *Service) inventoryRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+root+"Systems/{id}/SecureBoot", s.entered(s.of(showSecureBoot)))
}

func showSecureBoot(w http.ResponseWriter, _ *http.Request, m *Machine) {
	send(w, http.StatusOK, map[string]any{"@odata.id": root + "Systems/" + m.ID + "/SecureBoot", "Id": "SecureBoot", "Name": "Secure Boot",
		"SecureBootEnable": false, "SecureBootCurrentBoot": "Disabled", "SecureBootMode": "UserMode"})
}
