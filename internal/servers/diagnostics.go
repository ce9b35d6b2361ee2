package servers

// Diagnostics is what a host says of a guest at one moment.
type Diagnostics struct {
	// PowerState is the guest's; of one that doesn't run nothing else is said.
	PowerState PowerState `json:"power_state"`
	// Hypervisor is what runs it: qemu, kvm, simulated.
	Hypervisor string `json:"hypervisor"`
	// MemoryKB is what the guest may have and UsedKB what it has, in KiB.
	MemoryKB int64             `json:"memory_kb"`
	UsedKB   int64             `json:"used_kb"`
	CPUs     []CPUDiagnostics  `json:"cpus"`
	Disks    []DiskDiagnostics `json:"disks"`
	NICs     []NICDiagnostics  `json:"nics"`
}

// CPUDiagnostics is one virtual processor; Time is in ns.
type CPUDiagnostics struct {
	ID   int   `json:"id"`
	Time int64 `json:"time"`
}

// DiskDiagnostics is one disk, by the name of its device: requests and bytes
// since the guest was started.
type DiskDiagnostics struct {
	Name          string `json:"name"`
	ReadRequests  int64  `json:"read_requests"`
	ReadBytes     int64  `json:"read_bytes"`
	WriteRequests int64  `json:"write_requests"`
	WriteBytes    int64  `json:"write_bytes"`
	Errors        int64  `json:"errors"`
}

// NICDiagnostics is one network interface, by its device on the host.
type NICDiagnostics struct {
	Name       string  `json:"name"`
	MACAddress string  `json:"mac_address"`
	Received   Traffic `json:"received"`
	Sent       Traffic `json:"sent"`
}

// Traffic is what has passed an interface one way.
type Traffic struct {
	Octets  int64 `json:"octets"`
	Packets int64 `json:"packets"`
	Errors  int64 `json:"errors"`
	Drops   int64 `json:"drops"`
}

// powerWords are the original's names of power states.
var powerWords = map[PowerState]string{
	PowerNone: "pending", PowerRunning: "running", PowerPaused: "paused", PowerShutdown: "shutdown",
	PowerCrashed: "crashed", PowerSuspended: "suspended",
}

// Word is the original's name of a power state.
func (p PowerState) Word() string { return powerWords[p] }
