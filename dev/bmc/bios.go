package bmc

// The BIOS: its settings, which take effect at the machine's next start, and what its
// registry says of them.

import (
	"encoding/json"
	"maps"
	"net/http"
)

// usualBIOS are the settings of a machine that comes from the factory.
func usualBIOS() map[string]any {
	return map[string]any{"BootDelay": 5.0, "ProcVirtualization": "Enabled", "AssetTag": "none", "NumLock": true}
}

// BIOS are the machine's settings.
func (m *Machine) BIOS() map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.bios)
}

// biosRegistry says what each setting may be.
var biosRegistry = []map[string]any{
	{"AttributeName": "BootDelay", "Type": "Integer", "LowerBound": 0, "UpperBound": 60, "ReadOnly": false, "ResetRequired": true},
	{"AttributeName": "ProcVirtualization", "Type": "Enumeration", "Value": []any{map[string]any{"ValueName": "Enabled"}, map[string]any{"ValueName": "Disabled"}},
		"ReadOnly": false, "ResetRequired": true},
	{"AttributeName": "AssetTag", "Type": "String", "MinLength": 0, "MaxLength": 8, "ReadOnly": false, "IsSystemUniqueProperty": true},
	{"AttributeName": "NumLock", "Type": "Boolean", "ReadOnly": true},
}

func (s *Service) biosRoutes(mux *http.ServeMux) {
	const system, registry = root + "Systems/{id}/Bios", root + "Registries/Bios.1.0"
	mux.HandleFunc("GET "+system, s.entered(s.of(showBIOS)))
	mux.HandleFunc("GET "+system+"/Settings", s.entered(s.of(func(w http.ResponseWriter, _ *http.Request, m *Machine) {
		send(w, http.StatusOK, map[string]any{"@odata.id": biosOf(m) + "/Settings", "Id": "Settings", "Name": "BIOS settings to come", "Attributes": map[string]any{}})
	})))
	mux.HandleFunc("PATCH "+system+"/Settings", s.entered(s.of(changeBIOS)))
	mux.HandleFunc("POST "+system+"/Actions/Bios.ResetBios", s.entered(s.of(func(w http.ResponseWriter, r *http.Request, m *Machine) {
		m.act(w, r, func() bool {
			m.next = append(m.next, func() { m.bios = usualBIOS() })
			return true
		})
	})))
	mux.HandleFunc("GET "+registry, s.entered(func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"@odata.id": registry, "Id": "Bios.1.0", "Name": "BIOS registry", "Registry": "Bios.1.0",
			"Location": []any{map[string]any{"Language": "en", "Uri": registry + "/en"}}})
	}))
	mux.HandleFunc("GET "+registry+"/en", s.entered(func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"Id": "Bios.1.0", "Name": "BIOS registry", "RegistryEntries": map[string]any{"Attributes": biosRegistry}})
	}))
}

func biosOf(m *Machine) string { return root + "Systems/" + m.ID + "/Bios" }

func showBIOS(w http.ResponseWriter, _ *http.Request, m *Machine) {
	self := biosOf(m)
	send(w, http.StatusOK, map[string]any{"@odata.id": self, "Id": "Bios", "Name": "BIOS", "AttributeRegistry": "Bios.1.0", "Attributes": m.BIOS(),
		"@Redfish.Settings": map[string]any{"SettingsObject": link(self + "/Settings"), "SupportedApplyTimes": []string{"OnReset"}},
		"Actions":           map[string]any{"#Bios.ResetBios": map[string]any{"target": self + "/Actions/Bios.ResetBios"}}})
}

func changeBIOS(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct{ Attributes map[string]any }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || len(in.Attributes) == 0 {
		refuse(w, http.StatusBadRequest, "The request is no change that the BIOS knows.")
		return
	}
	m.act(w, r, func() bool {
		for name := range in.Attributes {
			if _, known := m.bios[name]; !known {
				return false
			}
		}
		m.next = append(m.next, func() { maps.Copy(m.bios, in.Attributes) })
		return true
	})
}

// SetBIOS gives the machine a setting at once, as somebody at its front would.
func (m *Machine) SetBIOS(name string, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bios[name] = value
}
