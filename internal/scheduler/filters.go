package scheduler

// The filters: which hosts can take a request.

import "slices"

// Filter is a rule that a host passes or not.
type Filter struct {
	// Name is shown to operators; those of the original keep theirs.
	Name string
	// Pass gives the rule for a request; nil if it lets every host pass.
	Pass func(*Request) func(*Host) bool
}

// Filters are asked in this order, cheap and selective ones first.
var Filters = []Filter{
	{"IgnoreHostsFilter", notExcluded},
	{"RequestedHostFilter", isRequested},
	{"ComputeFilter", isEnabledAndUp},
	{"AvailabilityZoneFilter", isInZone},
	{"CapacityFilter", hasRoom},
	{"ResourcesFilter", hasResources},
	{"TraitsFilter", hasTraits},
	{"SameHostFilter", isOnSameHost},
	{"DifferentHostFilter", isOnDifferentHost},
	{"ServerGroupAffinityFilter", joinsGroup},
	{"ServerGroupAntiAffinityFilter", avoidsGroup},
	{"SimpleCIDRAffinityFilter", isNear},
	{"AggregateMultiTenancyIsolation", letsProjectIn},
	{"AggregateTypeAffinityFilter", letsFlavorIn},
	{"AggregateInstanceExtraSpecsFilter", hasAggregateSpecs},
	{"AggregateImagePropertiesIsolation", letsImageIn},
	{"AggregateNumInstancesFilter", isBelowServerLimit},
	{"AggregateIoOpsFilter", isBelowBuildLimit},
	{"ImagePropertiesFilter", runsGuest},
	{"ComputeCapabilitiesFilter", hasCapabilities},
	{"JsonFilter", matchesQuery},
	{"PciPassthroughFilter", hasDevices},
	{"NUMATopologyFilter", hasCells},
}

func notExcluded(r *Request) func(*Host) bool {
	if len(r.Exclude) == 0 {
		return nil
	}
	return func(h *Host) bool { return !slices.Contains(r.Exclude, h.ID) }
}

func isRequested(r *Request) func(*Host) bool {
	if r.Host == "" {
		return nil
	}
	return func(h *Host) bool { return r.Host == h.Name || r.Host == h.ID }
}

func isEnabledAndUp(*Request) func(*Host) bool {
	return func(h *Host) bool { return h.Up && !h.Disabled }
}

func isInZone(r *Request) func(*Host) bool {
	if r.AvailabilityZone == "" {
		return nil
	}
	return func(h *Host) bool { return r.AvailabilityZone == h.AvailabilityZone }
}
