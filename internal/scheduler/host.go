package scheduler

// What there is.

import (
	"net/netip"
	"strings"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
)

// Host is one host as the snapshot has it. CPUs, MiB, GiB.
type Host struct {
	ID, Name         string
	IP               netip.Addr
	AvailabilityZone string
	// Up: its heartbeats come in and nobody declared it down.
	Up       bool
	Disabled bool

	VCPUs, Memory, Disk Capacity
	// Parts are the host's NUMA cells, nil if it doesn't say, and the devices that
	// it lends. CellsUsed and DevicesTaken are what guests have of them.
	Parts        pci.Host
	CellsUsed    *numa.Usage
	DevicesTaken pci.Taken
	// Resources are other resource classes that it has, by name, and ResourcesUsed
	// what is promised of them.
	Resources     map[string]provider.Inventory
	ResourcesUsed map[string]int64
	// Traits are the names of what it can do, as os-traits has them.
	Traits Set

	// Servers is how many have room here, Building to how many of those something
	// is being done.
	Servers, Building int
	// FailedBuilds is how many builds it has failed since its last guest was made.
	FailedBuilds int
	// Images counts its servers by what their images say, if the scheduler asks for
	// that (CountsImages); hosts share the properties.
	Images map[*Image]int

	// Aggregates says of each key what the host's aggregates have for it.
	Aggregates Metadata
	// Guests are the kinds of guest that it runs.
	Guests            []Guest
	HypervisorType    string
	HypervisorVersion int
	// Properties are further facts of the host, for capabilities: and query: what
	// its worker reports, objects in objects.
	Properties map[string]any
}

// Guest is a kind of guest: the architecture, the hypervisor and the way in
// which it is virtualized, by Nova's names (x86_64, qemu, hvm).
type Guest struct{ Architecture, Hypervisor, Mode string }

// Image is what an image says of itself.
type Image struct{ Properties map[string]string }

// Metadata is what a host's aggregates say: the values of each key, those that
// one aggregate lists with commas each on its own.
type Metadata map[string][]string

// Merge joins the metadata of a host's aggregates.
func Merge(aggregates ...map[string]string) Metadata {
	all := Metadata{}
	for _, one := range aggregates {
		for key, values := range one {
			for v := range strings.SplitSeq(values, ",") {
				all[key] = append(all[key], strings.TrimSpace(v))
			}
		}
	}
	return all
}
