package bmc

// Firmware, and the service that has machines run other: what an image is for, and which
// version it has, is said by its name, as in "bios-1.2".

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
)

// usualFirmware is that of a machine and its BMC that come from the factory.
func usualFirmware() map[string]string { return map[string]string{"bios": "1.0", "bmc": "2.0"} }

// Firmware is the version that a component runs.
func (m *Machine) Firmware(component string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.firmware[component]
}

// Flashes are the images that the machine was told to run, oldest first.
func (m *Machine) Flashes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.flashes)
}

func (s *Service) firmwareRoutes(mux *http.ServeMux) {
	const at = root + "UpdateService"
	mux.HandleFunc("GET "+at, s.entered(func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"@odata.id": at, "Id": "UpdateService", "Name": "Update Service",
			"Actions": map[string]any{"#UpdateService.SimpleUpdate": map[string]any{"target": at + "/Actions/UpdateService.SimpleUpdate"}}})
	}))
	mux.HandleFunc("POST "+at+"/Actions/UpdateService.SimpleUpdate", s.entered(s.update))
}

// update has the machine that is named run an image: its BMC at once, its BIOS as a task
// from the next start on.
func (s *Service) update(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ImageURI string
		Targets  []string
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || len(in.Targets) != 1 {
		refuse(w, http.StatusBadRequest, "The request is no image for one machine.")
		return
	}
	image := path.Base(in.ImageURI)
	component, version, _ := strings.Cut(image, "-")
	for _, m := range s.Machines {
		if in.Targets[0] != root+"Systems/"+m.ID {
			continue
		}
		known := func() bool {
			m.flashes = append(m.flashes, image)
			return m.firmware[component] != "" && version != ""
		}
		m.build(w, r, component == "bios", known, func() { m.firmware[component] = version })
		return
	}
	refuse(w, http.StatusNotFound, "The resource was not found.")
}
