package nodes

// What a node's rescue interface can do.

import (
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/store/baremetal"
)

// Rescue interfaces that nodes are rescued by.
const (
	RescueAgent = "agent"
	RescueFake  = "fake"
)

// MayRescue says whether a node can be rescued. Errors: Invalid.
func MayRescue(n *baremetal.Node) error {
	switch name := Interfaces(n)["rescue"]; {
	case name == RescueFake:
		return nil
	case name != RescueAgent:
		return hardware.Unsupported(n.Driver, "rescue")
	}
	return MayBoot(n)
}

// MayBoot says whether a node's boot interface is one that ramdisks and instances are
// started by. Errors: Invalid.
func MayBoot(n *baremetal.Node) error {
	name := BootInterface(n)
	if BootsRamdisk(n) || name == BootFake {
		return nil
	}
	return faults.New(faults.Invalid, "InvalidParameterValue", "this release has no boot interface %q", name)
}

// RescuePlace is what the password of the ramdisk that rescues a node is sealed for.
func RescuePlace(n *baremetal.Node) string { return Place(n) + "/rescue" }
