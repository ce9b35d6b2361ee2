package scheduler

// The weighers: which of the hosts that can take a request should.

// Weigher gives a host a weight in any unit; the heaviest is tried first.
type Weigher struct {
	Name string
	// Key is under what an aggregate's metadata may have another multiplier for
	// its hosts.
	Key string
	// Multiplier says how much the weigher counts among the others; a negative
	// one prefers light hosts.
	Multiplier float64
	// FromZero: a host's share of the heaviest counts; otherwise where it stands
	// between the lightest and the heaviest.
	FromZero bool
	// Weigh gives the weigher for a request; nil if every host weighs the same.
	Weigh func(*Request) func(*Host) float64
}

// Weighers have the original's multipliers (contracts: quotas-and-limits.json,
// config_defaults, filter_scheduler).
var Weighers = []Weigher{
	{"RAMWeigher", "ram_weight_multiplier", 1, true, always(func(h *Host) float64 { return h.Memory.Free() })},
	{"CPUWeigher", "cpu_weight_multiplier", 1, true, always(func(h *Host) float64 { return h.VCPUs.Free() })},
	{"DiskWeigher", "disk_weight_multiplier", 1, true, always(func(h *Host) float64 { return h.Disk.Free() })},
	{"IoOpsWeigher", "io_ops_weight_multiplier", -1, true, always(func(h *Host) float64 { return float64(h.Building) })},
	{"NumInstancesWeigher", "num_instances_weight_multiplier", 0, false, always(func(h *Host) float64 { return float64(h.Servers) })},
	{"PCIWeigher", "pci_weight_multiplier", 1, false, always(func(h *Host) float64 { return -float64(h.devices()) })},
	{"HypervisorVersionWeigher", "hypervisor_version_weight_multiplier", 1, false, always(func(h *Host) float64 { return float64(h.HypervisorVersion) })},
	{"ServerGroupSoftAffinityWeigher", "soft_affinity_weight_multiplier", 1, false, softAffinity},
	{"ServerGroupSoftAntiAffinityWeigher", "soft_anti_affinity_weight_multiplier", 1, false, softAntiAffinity},
}

// always weighs whatever is asked for.
func always(weigh func(*Host) float64) func(*Request) func(*Host) float64 {
	return func(*Request) func(*Host) float64 { return weigh }
}
