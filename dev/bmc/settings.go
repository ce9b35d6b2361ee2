package bmc

// Settings: whether a machine starts signed systems alone, and its lamps.

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// settings are a machine's.
type settings struct {
	secure bool
	// keys is what has become of the keys that secure boot trusts, in Redfish's words,
	// oldest first.
	keys []string
	lamp string
	// ahead is how far the clock of its BMC is ahead, and offset that of the clock from UTC.
	ahead  time.Duration
	offset string
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

// Keys is what has become of the keys that secure boot trusts, oldest first.
func (m *Machine) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.keys)
}

// Lamp is the state of the machine's lamp, in Redfish's words.
func (m *Machine) Lamp() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lamp
}

// Clock is how far the clock of the machine's BMC is ahead of this one's, and its offset
// from UTC.
func (m *Machine) Clock() (ahead time.Duration, offset string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ahead, m.offset
}

// SetClock has the clock of the machine's BMC be that far ahead, at an offset from UTC.
func (m *Machine) SetClock(ahead time.Duration, offset string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead, m.offset = ahead, offset
}

func changeManager(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct {
		DateTime            time.Time
		DateTimeLocalOffset string
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || in.DateTime.IsZero() || in.DateTime.Nanosecond() != 0 {
		refuse(w, http.StatusBadRequest, "The request is no change that the manager knows.")
		return
	}
	m.act(w, r, func() bool {
		m.ahead = time.Until(in.DateTime)
		if in.DateTimeLocalOffset != "" {
			m.offset = in.DateTimeLocalOffset
		}
		return true
	})
}

// lamps are what a lamp can be.
var lamps = []string{"Lit", "Off", "Blinking"}

func (s *Service) settingsRoutes(mux *http.ServeMux) {
	mux.HandleFunc("PATCH "+root+"Managers/{id}", s.entered(s.of(changeManager)))
	mux.HandleFunc("GET "+root+"Systems/{id}/SecureBoot", s.entered(s.of(showSecureBoot)))
	mux.HandleFunc("PATCH "+root+"Systems/{id}/SecureBoot", s.entered(s.of(changeSecureBoot)))
	mux.HandleFunc("POST "+root+"Systems/{id}/SecureBoot/Actions/SecureBoot.ResetKeys", s.entered(s.of(resetKeys)))
}

func showSecureBoot(w http.ResponseWriter, _ *http.Request, m *Machine) {
	secure, self := m.Secure(), root+"Systems/"+m.ID+"/SecureBoot"
	send(w, http.StatusOK, map[string]any{"@odata.id": self, "Actions": map[string]any{"#SecureBoot.ResetKeys": map[string]any{"target": self + "/Actions/SecureBoot.ResetKeys",
		"ResetKeysType@Redfish.AllowableValues": keyResets}}, "Id": "SecureBoot", "Name": "Secure Boot",
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

// keyResets are what can be done to the keys of a machine.
var keyResets = []string{"ResetAllKeysToDefault", "DeleteAllKeys", "DeletePK"}

func resetKeys(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct{ ResetKeysType string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || !slices.Contains(keyResets, in.ResetKeysType) {
		refuse(w, http.StatusBadRequest, "The request is nothing that can be done to keys.")
		return
	}
	m.act(w, r, func() bool {
		m.keys = append(m.keys, in.ResetKeysType)
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
