package bmc

// Settings: whether a machine starts signed systems alone, and its lamps.

import (
	"encoding/json"
	"net/http"
	"slices"
)

// settings are a machine's.
type settings struct {
	secure bool
	lamp   string
	// bios are its BIOS settings.
	bios map[string]any
	// later has what it is told of how it boots take effect at its next start; next does
	// that then.
	later bool
	next  []func()
}

// SettleLater has the machine boot as it is told to only once it was started anew, as
// many do.
func (m *Machine) SettleLater() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.later = true
}

// settle makes something true of how the machine boots, now or at its next start. The
// caller has the machine.
func (m *Machine) settle(change func()) {
	if m.later {
		m.next = append(m.next, change)
		return
	}
	change()
}

// started: what was to be true from this start on is. The caller has the machine.
func (m *Machine) started() {
	for _, change := range m.next {
		change()
	}
	m.next = nil
}

// Secure says whether the machine starts signed systems alone.
func (m *Machine) Secure() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.secure
}

// Lamp is the state of the machine's lamp, in Redfish's words.
func (m *Machine) Lamp() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lamp
}

// lamps are what a lamp can be.
var lamps = []string{"Lit", "Off", "Blinking"}

func (s *Service) settingsRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+root+"Systems/{id}/SecureBoot", s.entered(s.of(showSecureBoot)))
	mux.HandleFunc("PATCH "+root+"Systems/{id}/SecureBoot", s.entered(s.of(changeSecureBoot)))
}

func showSecureBoot(w http.ResponseWriter, _ *http.Request, m *Machine) {
	secure := m.Secure()
	send(w, http.StatusOK, map[string]any{"@odata.id": root + "Systems/" + m.ID + "/SecureBoot", "Id": "SecureBoot", "Name": "Secure Boot",
		"SecureBootEnable": secure, "SecureBootCurrentBoot": map[bool]string{true: "Enabled", false: "Disabled"}[secure], "SecureBootMode": "UserMode"})
}

func changeSecureBoot(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct{ SecureBootEnable *bool }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || in.SecureBootEnable == nil {
		refuse(w, http.StatusBadRequest, "The request is no change that secure boot knows.")
		return
	}
	m.act(w, r, func() bool {
		m.settle(func() { m.secure = *in.SecureBootEnable })
		return true
	})
}

// light gives the machine's lamp a state.
func (m *Machine) light(state string) bool {
	if !slices.Contains(lamps, state) {
		return false
	}
	m.lamp = state
	return true
}
