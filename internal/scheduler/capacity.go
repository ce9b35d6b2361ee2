package scheduler

// Room: how much of each resource a host can still promise.

import (
	"slices"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
)

// Capacity is how much there is of one resource and how much is promised.
type Capacity struct {
	Total, Reserved, Used int64
	// Ratio is how often what isn't reserved may be promised.
	Ratio float64
}

// Fits says whether n more can be promised: together with what is used within
// (total - reserved) x ratio, and alone no more than the total; nothing always can. It is
// the check of store/compute.ClaimOnHost.
func (c Capacity) Fits(n int64) bool {
	return n == 0 || n <= c.Total && float64(c.Used+n) <= float64(c.Total-c.Reserved)*c.Ratio
}

// Free is what can still be promised.
func (c Capacity) Free() float64 { return float64(c.Total-c.Reserved)*c.Ratio - float64(c.Used) }

func hasRoom(r *Request) func(*Host) bool {
	return func(h *Host) bool {
		return h.VCPUs.Fits(r.VCPUs) && h.Memory.Fits(r.MemoryMB) && h.Disk.Fits(r.DiskGB)
	}
}

// hasResources asks for room of the resource classes that the flavor names
// besides CPUs, memory and disk.
func hasResources(r *Request) func(*Host) bool {
	if len(r.Requirements.Resources) == 0 {
		return nil
	}
	return func(h *Host) bool {
		for class, n := range r.Requirements.Resources {
			if !h.Resources[class].Fits(h.ResourcesUsed[class], n) {
				return false
			}
		}
		return true
	}
}

// hasDevices asks for enough devices, wherever they are.
func hasDevices(r *Request) func(*Host) bool {
	if len(r.Devices) == 0 {
		return nil
	}
	return func(h *Host) bool {
		_, ok := pci.Assign(h.Parts, h.DevicesTaken, r.Devices, nil)
		return ok
	}
}

// devices is how many the host can still lend. Who asks for none is better off where
// there are few, so that they stay for those who do.
func (h *Host) devices() int { return len(h.Parts.Devices) - len(h.DevicesTaken) }

// hasCells asks whether the guest fits on the host's NUMA cells, near enough to its
// devices.
func hasCells(r *Request) func(*Host) bool {
	if r.Cells == nil {
		return nil
	}
	return func(h *Host) bool {
		_, _, ok := pci.Fit(h.Parts, h.CellsUsed, h.DevicesTaken, r.Cells, r.Devices, h.limits())
		return ok
	}
}

// limits are how often the CPUs and the memory of a cell may be promised.
func (h *Host) limits() numa.Limits { return numa.Limits{CPU: h.VCPUs.Ratio, RAM: h.Memory.Ratio} }

func hasTraits(r *Request) func(*Host) bool {
	required, forbidden := r.Requirements.Required, r.Requirements.Forbidden
	if len(required)+len(forbidden) == 0 {
		return nil
	}
	return func(h *Host) bool {
		lacks := func(trait string) bool { return !h.Traits[trait] }
		has := func(trait string) bool { return h.Traits[trait] }
		return !slices.ContainsFunc(required, lacks) && !slices.ContainsFunc(forbidden, has)
	}
}
