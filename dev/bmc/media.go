package bmc

// Virtual media: what is in a machine's drives, and the Redfish resources of them
// and of what the machine starts from.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// media are a machine's drives: one for compact discs, which it can start from, and one
// for sticks and floppy disks. What is in them are URLs; empty for nothing.
type media struct {
	medium, stick string
	mediaFaults   []Fault
}

// The drives, and what each takes.
const cdDrive, stickDrive = "Cd", "Usb"

var driveTypes = map[string][]string{cdDrive: {"CD", "DVD"}, stickDrive: {"USBStick", "Floppy"}}

// drive is where the machine has what is in a drive.
func (m *Machine) drive(name string) *string {
	if name == stickDrive {
		return &m.stick
	}
	return &m.medium
}

// Stick is the address of what is in the machine's drive for sticks; empty for nothing.
func (m *Machine) Stick() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stick
}

// Medium is the address of what is in the machine's drive for discs; empty for nothing.
func (m *Machine) Medium() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.medium
}

// Boot is what the machine is told to start from.
func (m *Machine) Boot() Boot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boot
}

// KeepOverrides has the machine's BMC take back nothing that it was told to start from, and
// say so.
func (m *Machine) KeepOverrides() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keeps = true
}

// shownBoot is what the service shows of what the machine starts from.
func (m *Machine) shownBoot() any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.keeps {
		return m.boot
	}
	return struct {
		Boot
		Targets []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
	}{m.boot, []string{"Pxe", "Cd", "Hdd"}}
}

// StartFrom tells the machine what to start from.
func (m *Machine) StartFrom(from Boot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boot = from
}

func (s *Service) mediaRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+root+"Managers/{id}", s.entered(s.of(showManager)))
	mux.HandleFunc("GET "+root+"Managers/{id}/VirtualMedia", s.entered(s.of(func(w http.ResponseWriter, _ *http.Request, m *Machine) {
		members := []any{link(mediaOf(m) + "/" + cdDrive), link(mediaOf(m) + "/" + stickDrive)}
		send(w, http.StatusOK, map[string]any{"@odata.id": mediaOf(m), "Name": "Virtual Media", "Members@odata.count": len(members), "Members": members})
	})))
	const drive = root + "Managers/{id}/VirtualMedia/{drive}"
	mux.HandleFunc("GET "+drive, s.entered(s.of(showMedium)))
	mux.HandleFunc("POST "+drive+"/Actions/VirtualMedia.InsertMedia", s.entered(s.of(insertMedium)))
	mux.HandleFunc("POST "+drive+"/Actions/VirtualMedia.EjectMedia", s.entered(s.of(ejectMedium)))
	mux.HandleFunc("PATCH "+root+"Systems/{id}", s.entered(s.of(changeSystem)))
}

func mediaOf(m *Machine) string { return root + "Managers/" + m.ID + "/VirtualMedia" }

func showManager(w http.ResponseWriter, _ *http.Request, m *Machine) {
	self := root + "Managers/" + m.ID
	ahead, offset := m.Clock()
	send(w, http.StatusOK, map[string]any{"@odata.id": self, "DateTime": time.Now().Add(ahead).UTC().Format("2006-01-02T15:04:05Z"), "DateTimeLocalOffset": offset, "Id": m.ID, "Name": "manager " + m.ID, "ManagerType": "BMC", "FirmwareVersion": m.Firmware("bmc"),
		"VirtualMedia": link(mediaOf(m)), "Links": map[string]any{"ManagerForServers": []any{link(root + "Systems/" + m.ID)}}})
}

func showMedium(w http.ResponseWriter, r *http.Request, m *Machine) {
	name := r.PathValue("drive")
	types, known := driveTypes[name]
	if !known {
		refuse(w, http.StatusNotFound, "The resource was not found.")
		return
	}
	m.mu.Lock()
	medium := *m.drive(name)
	m.mu.Unlock()
	self := mediaOf(m) + "/" + name
	shown := map[string]any{"@odata.id": self, "Id": name, "Name": "Virtual " + name, "MediaTypes": types, "Inserted": medium != "",
		"Image": nil, "WriteProtected": true, "ConnectedVia": "NotConnected",
		"Actions": map[string]any{"#VirtualMedia.InsertMedia": map[string]any{"target": self + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia": map[string]any{"target": self + "/Actions/VirtualMedia.EjectMedia"}}}
	if medium != "" {
		shown["Image"], shown["ConnectedVia"] = medium, "URI"
	}
	send(w, http.StatusOK, shown)
}

func insertMedium(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct{ Image string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "The request is no JSON.")
		return
	}
	if at, err := url.Parse(in.Image); err != nil || at.Host == "" {
		refuse(w, http.StatusBadRequest, "The value of Image is not allowed.")
		return
	}
	m.act(w, r, func() bool {
		drive := m.drive(r.PathValue("drive"))
		if *drive != "" {
			return false
		}
		*drive = in.Image
		return true
	})
}

func ejectMedium(w http.ResponseWriter, r *http.Request, m *Machine) {
	m.act(w, r, func() bool {
		*m.drive(r.PathValue("drive")) = ""
		return true
	})
}

// bootable are what a machine can be told to start from.
var bootable = []string{"None", "Pxe", "Cd", "Hdd", "BiosSetup", "UefiHttp"}

// changeSystem is told what the machine starts from, or what its lamp shows.
func changeSystem(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct {
		Boot         *Boot
		IndicatorLED string
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || (in.Boot == nil) == (in.IndicatorLED == "") {
		refuse(w, http.StatusBadRequest, "The request is no change that the system knows.")
		return
	}
	m.act(w, r, func() bool {
		if in.Boot == nil {
			return m.light(in.IndicatorLED)
		}
		if m.keeps && in.Boot.Target == own.Target {
			return false
		}
		boot := m.boot
		for _, f := range []struct {
			to    *string
			asked string
			known []string
		}{
			{&boot.Target, in.Boot.Target, bootable},
			{&boot.Enabled, in.Boot.Enabled, []string{"Disabled", "Once", "Continuous"}},
			{&boot.Mode, in.Boot.Mode, []string{"UEFI", "Legacy"}},
		} {
			if f.asked == "" {
				continue
			}
			if !slices.Contains(f.known, f.asked) {
				return false
			}
			*f.to = f.asked
		}
		mode := boot.Mode
		boot.Mode = m.boot.Mode
		m.boot = boot
		if mode != boot.Mode {
			m.settle(func() { m.boot.Mode = mode })
		}
		return true
	})
}

// act changes the machine and answers, or meets the machine's next fault of media.
func (m *Machine) act(w http.ResponseWriter, r *http.Request, change func() bool) {
	fault := next(m, &m.mediaFaults)
	switch fault {
	case Unavailable:
		refuse(w, http.StatusServiceUnavailable, "The service is temporarily unavailable.")
		return
	case Refuses:
		refuse(w, http.StatusBadRequest, "The system can't do that.")
		return
	}
	m.mu.Lock()
	done := change()
	m.mu.Unlock()
	switch {
	case fault == Drops:
		panic(http.ErrAbortHandler)
	case fault == Slow && pause(r.Context(), m.Lag) != nil:
	case done:
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusBadRequest, "The value of a property is not allowed, or there is a medium already.")
	}
}

// MisbehaveMedia has the next changes of the drive and of what the machine starts
// from meet these faults, one each.
func (m *Machine) MisbehaveMedia(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mediaFaults = append(m.mediaFaults, faults...)
}

// next takes the next of some faults of a machine; empty for none.
func next(m *Machine, faults *[]Fault) (f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(*faults) > 0 {
		f, *faults = (*faults)[0], (*faults)[1:]
	}
	return f
}
