package bmc

// Storage that makes logical disks of a machine's drives, at once or at its next start.

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Volume is a logical disk.
type Volume struct {
	ID, Name, RAIDType string
	Bytes              int64
	// Drives are what it is made of, by their ids.
	Drives []string
}

// volumes are a machine's.
type volumes struct {
	made []Volume
	// tasks are how those stand that are done at the next start, oldest first; broken has
	// them fail.
	tasks  []string
	broken bool
	count  int
}

// Volumes are the machine's logical disks.
func (m *Machine) Volumes() []Volume {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.volumes.made)
}

// BreakTasks has what the machine's storage is told for its next start fail then.
func (m *Machine) BreakTasks() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.volumes.broken = true
}

// kinds are the kinds of volumes, with how few drives each is made of, and how many of
// those hold no data of their own, or which part of them does.
var kinds = map[string]struct{ least, overhead, parts int }{
	"RAID0": {1, 0, 1}, "RAID1": {2, 1, 1}, "RAID5": {3, 1, 1}, "RAID6": {4, 2, 1}, "RAID10": {4, 0, 2}, "RAID50": {6, 2, 1}, "RAID60": {8, 4, 1},
}

func (s *Service) raidRoutes(mux *http.ServeMux) {
	const at = root + "Systems/{id}/Storage/1/Volumes"
	mux.HandleFunc("POST "+at, s.entered(s.of(makeVolume)))
	mux.HandleFunc("GET "+at+"/{part}", s.entered(s.of(showVolume)))
	mux.HandleFunc("DELETE "+at+"/{part}", s.entered(s.of(deleteVolume)))
	mux.HandleFunc("GET "+root+"Systems/{id}/Tasks/{part}", s.entered(s.of(showTask)))
}

func showVolumes(w http.ResponseWriter, _ *http.Request, m *Machine) {
	self := m.path("Storage/1/Volumes")
	members := []any{}
	for _, v := range m.Volumes() {
		members = append(members, link(self+"/"+v.ID))
	}
	when := "Immediate"
	if m.settlesLater() {
		when = "OnReset"
	}
	send(w, http.StatusOK, map[string]any{"@odata.id": self, "Name": "Volumes", "Members@odata.count": len(members), "Members": members,
		"@Redfish.OperationApplyTimeSupport": map[string]any{"SupportedValues": []string{when}}})
}

func showVolume(w http.ResponseWriter, r *http.Request, m *Machine) {
	for _, v := range m.Volumes() {
		if v.ID != r.PathValue("part") {
			continue
		}
		drives := []any{}
		for _, id := range v.Drives {
			drives = append(drives, link(m.path("Storage/1/Drives/"+id)))
		}
		send(w, http.StatusOK, map[string]any{"@odata.id": m.path("Storage/1/Volumes/" + v.ID), "Id": v.ID, "Name": v.Name, "RAIDType": v.RAIDType, "CapacityBytes": v.Bytes,
			"Links": map[string]any{"Drives": drives}})
		return
	}
	refuse(w, http.StatusNotFound, "The resource was not found.")
}

func makeVolume(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct {
		RAIDType, Name string
		CapacityBytes  int64
		Links          struct {
			Drives []struct {
				At string `json:"@odata.id"`
			}
		}
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "The request is no JSON.")
		return
	}
	v := Volume{Name: in.Name, RAIDType: in.RAIDType, Bytes: in.CapacityBytes}
	for _, d := range in.Links.Drives {
		v.Drives = append(v.Drives, strings.TrimPrefix(d.At, m.path("Storage/1/Drives/")))
	}
	m.build(w, r, m.settlesLater(), func() bool { return m.fits(&v) }, func() {
		m.volumes.count++
		v.ID = "v" + ordinal(m.volumes.count)
		if v.Name == "" {
			v.Name = "Volume " + v.ID
		}
		m.volumes.made = append(m.volumes.made, v)
	})
}

func deleteVolume(w http.ResponseWriter, r *http.Request, m *Machine) {
	is := func(v Volume) bool { return v.ID == r.PathValue("part") }
	m.build(w, r, m.settlesLater(), func() bool { return slices.ContainsFunc(m.volumes.made, is) }, func() { m.volumes.made = slices.DeleteFunc(m.volumes.made, is) })
}

// fits says whether a volume can be made, and gives it a size if it has none. The caller
// has the machine.
func (m *Machine) fits(v *Volume) bool {
	kind, known := kinds[v.RAIDType]
	n := len(v.Drives)
	if !known || n < kind.least {
		return false
	}
	left := int64(-1)
	for _, id := range v.Drives {
		has := int64(-1)
		for i, size := range m.parts.disks {
			if ordinal(i) == id {
				has = size - m.used(id)
			}
		}
		if left < 0 || has < left {
			left = has
		}
	}
	most := left * int64((n-kind.overhead)/kind.parts)
	if v.Bytes == 0 {
		v.Bytes = most
	}
	return left > 0 && v.Bytes <= most
}

// used is how much of a drive volumes have.
func (m *Machine) used(drive string) (bytes int64) {
	for _, v := range m.volumes.made {
		kind := kinds[v.RAIDType]
		if slices.Contains(v.Drives, drive) {
			bytes += v.Bytes / int64((len(v.Drives)-kind.overhead)/kind.parts)
		}
	}
	return bytes
}

// build does something to the machine's volumes or firmware if it may, at once, or later,
// as a task at the next start; of those there is one at a time. It meets the machine's next
// fault of media.
func (m *Machine) build(w http.ResponseWriter, r *http.Request, later bool, may func() bool, do func()) {
	fault := next(m, &m.mediaFaults)
	if fault == Unavailable {
		refuse(w, http.StatusServiceUnavailable, "The service is temporarily unavailable.")
		return
	}
	m.mu.Lock()
	tasks := len(m.volumes.tasks)
	done := may() && (!later || tasks == 0 || m.volumes.tasks[tasks-1] != "New") && fault != Refuses
	if done && later {
		m.volumes.tasks = append(m.volumes.tasks, "New")
		m.next = append(m.next, func() {
			if m.volumes.tasks[tasks] = "Completed"; m.volumes.broken {
				m.volumes.tasks[tasks] = "Exception"
				return
			}
			do()
		})
	} else if done {
		do()
	}
	m.mu.Unlock()
	switch {
	case fault == Drops:
		panic(http.ErrAbortHandler)
	case fault == Slow && pause(r.Context(), m.Lag) != nil:
	case done && later:
		w.Header().Set("Location", m.path("Tasks/"+ordinal(tasks)))
		send(w, http.StatusAccepted, map[string]any{"@odata.id": m.path("Tasks/" + ordinal(tasks)), "TaskState": "New"})
	case done:
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusBadRequest, "That can't be made, or something else is being made.")
	}
}

func (m *Machine) settlesLater() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.later
}

func showTask(w http.ResponseWriter, r *http.Request, m *Machine) {
	m.mu.Lock()
	states := slices.Clone(m.volumes.tasks)
	m.mu.Unlock()
	for i, state := range states {
		if ordinal(i) == r.PathValue("part") {
			send(w, http.StatusOK, map[string]any{"@odata.id": m.path("Tasks/" + ordinal(i)), "Id": ordinal(i), "Name": "Task", "TaskState": state,
				"TaskStatus": map[bool]string{true: "Critical", false: "OK"}[state == "Exception"], "Messages": []any{map[string]any{"Message": "it is " + state}}})
			return
		}
	}
	refuse(w, http.StatusNotFound, "The resource was not found.")
}
