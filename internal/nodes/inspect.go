package nodes

// What a node's inspect interface can do.

import (
	"net/url"
	"strings"

	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/store/baremetal"
)

// Inspect interfaces that nodes are inspected by.
const (
	InspectRedfish = "redfish"
	InspectAgent   = "agent"
	InspectFake    = "fake"
)

// MayInspect says whether a node can be inspected. Errors: Invalid.
func MayInspect(n *baremetal.Node) error {
	switch name := Interfaces(n)["inspect"]; {
	case name == InspectFake, name == InspectRedfish && PowerInterface(n) == "redfish":
		return nil
	case name == InspectAgent && BootsRamdisk(n):
		return nil
	case name == InspectAgent:
		return hardware.Unsupported(n.Driver, "validate_inspection")
	}
	return hardware.Unsupported(n.Driver, "inspect")
}

// Hosts are those of the addresses that driver_info has, of BMCs and the like.
func (i Info) Hosts() []string {
	var hosts []string
	for _, name := range i.object.Keys() {
		if !strings.HasSuffix(name, "_address") {
			continue
		}
		host := i.text(name)
		if at, err := url.Parse(host); err == nil && strings.Contains(host, "//") {
			host = at.Hostname()
		}
		if host = strings.Trim(host, "[]"); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
