package scheduler

// What a host's aggregates say of it, and whom they let in.

import (
	"slices"
	"strconv"
	"strings"
)

// The keys of an aggregate's metadata that mean something to the scheduler
// (spec 001, filters and weighers).
const (
	tenantKey      = "filter_tenant_id"
	flavorKey      = "instance_type"
	maxServersKey  = "max_instances_per_host"
	maxBuildingKey = "max_io_ops_per_host"
)

// letsProjectIn: a host in an aggregate with tenants takes only theirs. Further
// keys with the same beginning name more of them.
func letsProjectIn(r *Request) func(*Host) bool {
	return func(h *Host) bool {
		restricted := false
		for key, projects := range h.Aggregates {
			if strings.HasPrefix(key, tenantKey) {
				if slices.Contains(projects, r.ProjectID) {
					return true
				}
				restricted = true
			}
		}
		return !restricted
	}
}

func letsFlavorIn(r *Request) func(*Host) bool {
	return func(h *Host) bool {
		flavors := h.Aggregates[flavorKey]
		return len(flavors) == 0 || slices.Contains(flavors, r.Flavor)
	}
}

// hasAggregateSpecs: what the flavor wants under aggregate_instance_extra_specs,
// one of the host's aggregates has.
func hasAggregateSpecs(r *Request) func(*Host) bool {
	if len(r.Requirements.Aggregate) == 0 {
		return nil
	}
	return func(h *Host) bool {
		for key, want := range r.Requirements.Aggregate {
			if !slices.ContainsFunc(h.Aggregates[key], want.holds) {
				return false
			}
		}
		return true
	}
}

// letsImageIn: where an aggregate has a key that the image has too, the values agree.
func letsImageIn(r *Request) func(*Host) bool {
	if len(r.Image) == 0 {
		return nil
	}
	return func(h *Host) bool {
		for key, options := range h.Aggregates {
			if value := r.Image[key]; value != "" && len(options) > 0 && !slices.Contains(options, value) {
				return false
			}
		}
		return true
	}
}

func isBelowServerLimit(*Request) func(*Host) bool {
	return func(h *Host) bool { return h.isBelow(maxServersKey, h.Servers) }
}

func isBelowBuildLimit(*Request) func(*Host) bool {
	return func(h *Host) bool { return h.isBelow(maxBuildingKey, h.Building) }
}

// isBelow says whether n is less than the smallest limit that the aggregates
// have under the key; none is no limit.
func (h *Host) isBelow(key string, n int) bool {
	limit, ok := least(h.Aggregates[key])
	return !ok || float64(n) < limit
}

// multiplier is what the aggregates have instead of a weigher's own multiplier.
func (h *Host) multiplier(w *Weigher) float64 {
	if own, ok := least(h.Aggregates[w.Key]); ok {
		return own
	}
	return w.Multiplier
}

// least is the smallest number among texts; what is no number doesn't count.
func least(texts []string) (smallest float64, any bool) {
	for _, t := range texts {
		if n, err := strconv.ParseFloat(t, 64); err == nil && (!any || n < smallest) {
			smallest, any = n, true
		}
	}
	return smallest, any
}
