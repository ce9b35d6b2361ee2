package scheduler

// What a flavor wants of a host's properties (capabilities:).

import (
	"fmt"
	"strings"
)

// hasCapabilities: each wanted property is there and as it should be.
func hasCapabilities(r *Request) func(*Host) bool {
	if len(r.Requirements.Capabilities) == 0 {
		return nil
	}
	return func(h *Host) bool {
		for path, want := range r.Requirements.Capabilities {
			value, ok := h.property(path, ":")
			if !ok || !want.holds(text(value)) {
				return false
			}
		}
		return true
	}
}

// facts are the properties that the scheduler itself knows of a host, by the
// original's names.
var facts = map[string]func(*Host) any{
	"host":                  func(h *Host) any { return h.Name },
	"nodename":              func(h *Host) any { return h.Name },
	"hypervisor_hostname":   func(h *Host) any { return h.Name },
	"uuid":                  func(h *Host) any { return h.ID },
	"host_ip":               func(h *Host) any { return h.IP.String() },
	"hypervisor_type":       func(h *Host) any { return h.HypervisorType },
	"hypervisor_version":    func(h *Host) any { return h.HypervisorVersion },
	"vcpus_total":           func(h *Host) any { return h.VCPUs.Total },
	"vcpus_used":            func(h *Host) any { return h.VCPUs.Used },
	"total_usable_ram_mb":   func(h *Host) any { return h.Memory.Total },
	"free_ram_mb":           func(h *Host) any { return h.Memory.Total - h.Memory.Used },
	"total_usable_disk_gb":  func(h *Host) any { return h.Disk.Total },
	"disk_mb_used":          func(h *Host) any { return h.Disk.Used << 10 },
	"free_disk_mb":          func(h *Host) any { return (h.Disk.Total - h.Disk.Used) << 10 },
	"num_instances":         func(h *Host) any { return h.Servers },
	"num_io_ops":            func(h *Host) any { return h.Building },
	"cpu_allocation_ratio":  func(h *Host) any { return h.VCPUs.Ratio },
	"ram_allocation_ratio":  func(h *Host) any { return h.Memory.Ratio },
	"disk_allocation_ratio": func(h *Host) any { return h.Disk.Ratio },
}

// property finds a value by its path.
func (h *Host) property(path, separator string) (any, bool) {
	steps := strings.Split(path, separator)
	var value any = h.Properties
	if fact, ok := facts[steps[0]]; ok {
		value, steps = fact(h), steps[1:]
	}
	for _, step := range steps {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[step]; !ok || value == nil {
			return nil, false
		}
	}
	return value, true
}

func text(value any) string {
	if b, ok := value.(bool); ok {
		// As Python writes it, since flavors were written for that.
		return map[bool]string{true: "True", false: "False"}[b]
	}
	return fmt.Sprint(value)
}
