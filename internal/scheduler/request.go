package scheduler

// What is looked for.

import (
	"net/netip"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
)

// Request is what is looked for. CPUs, MiB, GiB.
type Request struct {
	ProjectID               string
	VCPUs, MemoryMB, DiskGB int64
	// Host is the name or id of the one host that is wanted; empty is any.
	Host string
	// AvailabilityZone is the zone that is wanted; empty is any.
	AvailabilityZone string
	// Exclude are ids of hosts that are not wanted.
	Exclude []string

	// Flavor is the flavor's name, Requirements what its extra specs and the
	// image's properties ask of a host.
	Flavor       string
	Requirements Requirements
	// Cells is what is wanted of the host's NUMA cells, nil is nothing; Devices are
	// those that are wanted of it.
	Cells   *numa.Request
	Devices []pci.Request
	// Image has the image's properties.
	Image map[string]string

	// Group is the server group; nil is none.
	Group *Group
	// SameHost and DifferentHost are ids of hosts: those on which the servers of
	// the hint are. A hint whose servers are nowhere is an empty set, which is
	// not the same as no hint (nil).
	SameHost, DifferentHost Set
	// Near is the network of hosts that is wanted (hints build_near_host_ip and
	// cidr); the zero value is any.
	Near netip.Prefix
	// Query is the hint "query"; nil is none.
	Query *Query
}

// Set is a set of ids.
type Set map[string]bool

// SetOf makes a set.
func SetOf(ids ...string) Set {
	s := Set{}
	for _, id := range ids {
		s[id] = true
	}
	return s
}

// Policy is a server group's.
type Policy string

// The policies (contracts: spec 001, server groups).
const (
	Affinity         Policy = "affinity"
	AntiAffinity     Policy = "anti-affinity"
	SoftAffinity     Policy = "soft-affinity"
	SoftAntiAffinity Policy = "soft-anti-affinity"
)

// Group is a server group as a request sees it.
type Group struct {
	Policy Policy
	// MaxServersPerHost is the rule max_server_per_host of anti-affinity; 0 is 1.
	MaxServersPerHost int
	// Members counts the group's other servers by the id of the host they are on.
	Members map[string]int
}
