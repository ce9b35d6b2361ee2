package bmc

// What a machine is made of, as its BMC tells.

import (
	"net/http"
	"slices"
)

// parts are what a machine is made of.
type parts struct {
	// memory is in gibibytes, and disks are in bytes.
	memory int
	disks  []int64
	macs   []string
}

// Fit changes what the machine is made of: its memory in gibibytes, its disks in bytes
// and the hardware addresses that its BMC tells.
func (m *Machine) Fit(memory int, disks []int64, macs ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parts = parts{memory, disks, macs}
}

func (m *Machine) made() parts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return parts{m.parts.memory, slices.Clone(m.parts.disks), slices.Clone(m.parts.macs)}
}

// inventoryRoutes are the resources below a system that are only read.
func (s *Service) inventoryRoutes(mux *http.ServeMux) {
	for path, show := range map[string]func(http.ResponseWriter, *http.Request, *Machine){
		"Processors":                showProcessors,
		"Processors/{part}":         showProcessor,
		"Storage":                   showStorages,
		"Storage/1":                 showStorage,
		"Storage/1/Drives/{part}":   showDrive,
		"EthernetInterfaces":        showInterfaces,
		"EthernetInterfaces/{part}": showInterface,
		"Storage/1/Volumes":         showVolumes,
	} {
		mux.HandleFunc("GET "+root+"Systems/{id}/"+path, s.entered(s.of(show)))
	}
}

// sendParts sends a list of what is below a path.
func sendParts(w http.ResponseWriter, self, name string, ids []string) {
	members := make([]any, len(ids))
	for i, id := range ids {
		members[i] = link(self + "/" + id)
	}
	send(w, http.StatusOK, map[string]any{"@odata.id": self, "Name": name, "Members@odata.count": len(members), "Members": members})
}

func (m *Machine) path(below string) string { return root + "Systems/" + m.ID + "/" + below }

func showProcessors(w http.ResponseWriter, _ *http.Request, m *Machine) {
	sendParts(w, m.path("Processors"), "Processors", []string{"1"})
}

func showProcessor(w http.ResponseWriter, r *http.Request, m *Machine) {
	send(w, http.StatusOK, map[string]any{"@odata.id": m.path("Processors/" + r.PathValue("part")), "Id": r.PathValue("part"), "Name": "Processor",
		"InstructionSet": "x86-64", "Model": "simulated", "MaxSpeedMHz": 2000, "TotalCores": 4, "TotalThreads": 4})
}

func showStorages(w http.ResponseWriter, _ *http.Request, m *Machine) {
	sendParts(w, m.path("Storage"), "Storage", []string{"1"})
}

func showStorage(w http.ResponseWriter, _ *http.Request, m *Machine) {
	drives := []any{}
	for i := range m.made().disks {
		drives = append(drives, link(m.path("Storage/1/Drives/"+ordinal(i))))
	}
	send(w, http.StatusOK, map[string]any{"@odata.id": m.path("Storage/1"), "Id": "1", "Name": "Storage", "Drives": drives, "Volumes": link(m.path("Storage/1/Volumes")),
		"StorageControllers": []any{map[string]any{"@odata.id": m.path("Storage/1") + "#/StorageControllers/0", "MemberId": "0", "SupportedRAIDTypes": []string{"RAID0", "RAID1", "RAID5", "RAID6", "RAID10", "RAID50", "RAID60"}}}})
}

func showDrive(w http.ResponseWriter, r *http.Request, m *Machine) {
	for i, size := range m.made().disks {
		if ordinal(i) == r.PathValue("part") {
			send(w, http.StatusOK, map[string]any{"@odata.id": m.path("Storage/1/Drives/" + ordinal(i)), "Id": ordinal(i), "Name": "Drive " + ordinal(i), "CapacityBytes": size,
				"MediaType": "HDD", "Protocol": "SAS"})
			return
		}
	}
	refuse(w, http.StatusNotFound, "The resource was not found.")
}

func showInterfaces(w http.ResponseWriter, _ *http.Request, m *Machine) {
	ids := []string{}
	for i := range m.made().macs {
		ids = append(ids, ordinal(i))
	}
	sendParts(w, m.path("EthernetInterfaces"), "Ethernet Interfaces", ids)
}

func showInterface(w http.ResponseWriter, r *http.Request, m *Machine) {
	for i, mac := range m.made().macs {
		if ordinal(i) == r.PathValue("part") {
			send(w, http.StatusOK, map[string]any{"@odata.id": m.path("EthernetInterfaces/" + ordinal(i)), "Id": "NIC" + ordinal(i), "Name": "NIC " + ordinal(i),
				"MACAddress": mac, "SpeedMbps": 1000, "Status": map[string]any{"State": "Enabled", "Health": "OK"}})
			return
		}
	}
	refuse(w, http.StatusNotFound, "The resource was not found.")
}
