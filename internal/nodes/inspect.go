package nodes

// What a node's inspect interface can do.

import (
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/store/baremetal"
)

// Inspect interfaces that nodes are inspected by.
const (
	InspectRedfish = "redfish"
	InspectFake    = "fake"
)

// MayInspect says whether a node can be inspected. Errors: Invalid.
func MayInspect(n *baremetal.Node) error {
	switch name := Interfaces(n)["inspect"]; {
	case name == InspectFake, name == InspectRedfish && PowerInterface(n) == "redfish":
		return nil
	}
	return hardware.Unsupported(n.Driver, "inspect")
}
