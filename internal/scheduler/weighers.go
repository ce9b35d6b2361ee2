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
	// Share is what of a host's weight counts.
	Share Share
	// Weigh gives the weigher for a request; nil if every host weighs the same.
	Weigh func(*Request) func(*Host) float64
}

// Share says what of a weight the multiplier multiplies, so that weighers of any
// unit compare.
type Share int

const (
	// Between is where a host stands between the lightest, 0, and the heaviest, 1.
	Between Share = iota
	// FromZero is its share of the heaviest; what is below zero counts as zero.
	FromZero
	// Against is Between, but to -1: the heavier, the less a host is wanted.
	Against
)

// imageKey is the multiplier of the one weigher that asks what images the servers
// of a host have.
const imageKey = "image_props_weight_multiplier"

// Weighers have the original's multipliers (contracts: quotas-and-limits.json,
// config_defaults, filter_scheduler).
var Weighers = []Weigher{
	{"RAMWeigher", "ram_weight_multiplier", 1, FromZero, always(func(h *Host) float64 { return h.Memory.Free() })},
	{"CPUWeigher", "cpu_weight_multiplier", 1, FromZero, always(func(h *Host) float64 { return h.VCPUs.Free() })},
	{"DiskWeigher", "disk_weight_multiplier", 1, FromZero, always(func(h *Host) float64 { return h.Disk.Free() })},
	{"IoOpsWeigher", "io_ops_weight_multiplier", -1, FromZero, always(func(h *Host) float64 { return float64(h.Building) })},
	{"NumInstancesWeigher", "num_instances_weight_multiplier", 0, Between, always(func(h *Host) float64 { return float64(h.Servers) })},
	{"PCIWeigher", "pci_weight_multiplier", 1, Between, always(func(h *Host) float64 { return -float64(h.devices()) })},
	{"HypervisorVersionWeigher", "hypervisor_version_weight_multiplier", 1, Between, always(func(h *Host) float64 { return float64(h.HypervisorVersion) })},
	{"ServerGroupSoftAffinityWeigher", "soft_affinity_weight_multiplier", 1, Between, softAffinity},
	{"ServerGroupSoftAntiAffinityWeigher", "soft_anti_affinity_weight_multiplier", 1, Between, softAntiAffinity},
	{"BuildFailureWeigher", "build_failure_weight_multiplier", 1000000, Against, always(func(h *Host) float64 { return float64(h.FailedBuilds) })},
	{"ImagePropertiesWeigher", imageKey, 0, Between, commonImage(nil)},
}

// always weighs whatever is asked for.
func always(weigh func(*Host) float64) func(*Request) func(*Host) float64 {
	return func(*Request) func(*Host) float64 { return weigh }
}
