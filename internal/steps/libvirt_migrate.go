package steps

// Family libvirt: a guest that moves to another host while it runs.

// Departure is what the host that a guest is to leave says of it.
type Departure struct {
	// KVM, Machine and CPU are what the guest runs on; CPU is libvirt's XML.
	KVM     bool   `json:"kvm,omitempty"`
	Machine string `json:"machine,omitempty"`
	CPU     string `json:"cpu,omitempty"`
	// Folder is where its disks are, Sizes are theirs in bytes, by file.
	Folder string           `json:"folder"`
	Sizes  map[string]int64 `json:"sizes,omitempty"`
	// Marker is in the folder: who sees it there sees the same disks.
	Marker string `json:"marker"`
	// Boot is the kernel's that the host runs.
	Boot string `json:"boot,omitempty"`
}

// Landing is where a guest is to come to.
type Landing struct {
	// URI is what the other host's hypervisor connects to, Address where memory
	// and disks are sent.
	URI     string `json:"uri"`
	Address string `json:"address"`
	// Folder is where its disks will be, and Volumes how its volumes are reached.
	Folder  string            `json:"folder"`
	Volumes map[string]string `json:"volumes,omitempty"`
	// Shared says that the disks are there already.
	Shared bool `json:"shared,omitempty"`
	// SameMachine says that both hosts have one kernel.
	SameMachine bool `json:"same_machine,omitempty"`
}

// MoveProgress is how far a move has come, in bytes.
type MoveProgress struct {
	MemoryTotal     int64 `json:"memory_total"`
	MemoryProcessed int64 `json:"memory_processed"`
	MemoryRemaining int64 `json:"memory_remaining"`
	DiskTotal       int64 `json:"disk_total"`
	DiskProcessed   int64 `json:"disk_processed"`
	DiskRemaining   int64 `json:"disk_remaining"`
}

// LandedOut is what there is of it.
type LandedOut struct {
	// Here says that the guest runs here, Coming that it is still on its way.
	Here       bool `json:"here,omitempty"`
	Coming     bool `json:"coming,omitempty"`
	PowerState int  `json:"power_state"`
	// Downtime and Elapsed are milliseconds; 0 is unknown.
	Downtime uint64 `json:"downtime,omitempty"`
	Elapsed  uint64 `json:"elapsed,omitempty"`
}
