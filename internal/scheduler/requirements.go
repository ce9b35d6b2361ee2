package scheduler

// What a flavor's extra specs and an image's properties ask of a host.

import (
	"slices"
	"strings"

	"holdfast.dev/internal/extraspecs"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
)

// Requirements is read once for a request.
type Requirements struct {
	// Required and Forbidden are traits.
	Required, Forbidden []string
	// Resources is how much is wanted of resource classes other than those that
	// a Request has fields for.
	Resources map[string]int64
	// Aggregate is wanted of the metadata of aggregates, Capabilities of the
	// host's properties, whose key is a path.
	Aggregate    map[string]want
	Capabilities map[string]want
}

// groups of numbered or named requests (resources1:, trait_NIC:) are met by the
// host as a whole, since a host is one resource provider here.
const (
	traitSpace        = "trait"
	aggregateSpace    = "aggregate_instance_extra_specs"
	capabilitiesSpace = "capabilities"
	maxPhysAddrBits   = "hw:maxphysaddr_bits"
)

// Apply reads extra specs and image properties into the request: traits,
// resources (which replace what the flavor itself says of CPUs, memory and
// disk), NUMA cells with CPUs that are pinned (which are not among those that
// count as room), and what is wanted of aggregates and properties. faults.Invalid for
// a resource that is no number, or with the others of its class more than any is, and
// for a trait that is neither required nor forbidden; of flavors made with it,
// extraspecs.Check has refused the first and the last.
func (r *Request) Apply(extraSpecs, image map[string]string) error {
	r.Image = image
	asked, err := extraspecs.Resources(extraSpecs)
	if err != nil {
		return err
	}
	need := Requirements{Resources: extraspecs.Others(asked), Aggregate: map[string]want{}, Capabilities: map[string]want{}}
	for key, value := range extraSpecs {
		space, name, _ := strings.Cut(key, ":")
		switch {
		case key == maxPhysAddrBits:
			need.Capabilities["cpu_info:maxphysaddr:bits"] = want(">= " + value)
		case strings.HasPrefix(space, traitSpace) && name != "":
			if err := need.trait(key, name, value); err != nil {
				return err
			}
		case space == aggregateSpace:
			need.Aggregate[name] = want(value)
		case space == capabilitiesSpace:
			need.Capabilities[name] = want(value)
		}
	}
	for property, value := range image {
		if trait, ok := strings.CutPrefix(property, "trait:"); ok {
			if err := need.trait(property, trait, value); err != nil {
				return err
			}
		}
	}
	slices.Sort(need.Required)
	slices.Sort(need.Forbidden)
	cells, err := numa.Read(extraSpecs, image, int(r.VCPUs), r.MemoryMB)
	if err != nil {
		return err
	}
	instead := func(class string, otherwise int64) int64 {
		if amount, named := asked[class]; named {
			return amount
		}
		return otherwise
	}
	r.Cells, r.VCPUs = cells, instead("VCPU", int64(cells.Floating(int(r.VCPUs))))
	r.MemoryMB = instead("MEMORY_MB", r.MemoryMB)
	r.DiskGB = instead("DISK_GB", r.DiskGB)
	r.Requirements = need
	return nil
}

func (n *Requirements) trait(key, name, value string) error {
	switch value {
	case "required":
		n.Required = append(n.Required, name)
	case "forbidden":
		n.Forbidden = append(n.Forbidden, name)
	default:
		return faults.New(faults.Invalid, "InvalidExtraSpec", "%s is %q: a trait is required or forbidden", key, value)
	}
	return nil
}
