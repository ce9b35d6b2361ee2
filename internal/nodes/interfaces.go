package nodes

// The implementations of a node's interfaces.

import "holdfast.dev/internal/store/baremetal"

// Interfaces are the implementations that a node has, by interface; one without is
// not among them.
func Interfaces(n *baremetal.Node) map[string]string {
	all := map[string]string{}
	for name, impl := range map[string]*string{"bios": n.BIOSInterface, "boot": n.BootInterface, "console": n.ConsoleInterface,
		"deploy": n.DeployInterface, "firmware": n.FirmwareInterface, "inspect": n.InspectInterface, "management": n.ManagementInterface,
		"network": n.NetworkInterface, "power": n.PowerInterface, "raid": n.RAIDInterface, "rescue": n.RescueInterface,
		"storage": n.StorageInterface, "vendor": n.VendorInterface} {
		if impl != nil {
			all[name] = *impl
		}
	}
	return all
}

// Ramdisk says whether a node is cleaned and serviced by a ramdisk that it boots: by every
// deploy interface but those that do nothing.
func Ramdisk(n *baremetal.Node) bool {
	deploy := Interfaces(n)["deploy"]
	return deploy != "fake" && deploy != "noop"
}

// BootsByNetwork says whether a node's boot interface has it boot by its ports.
func BootsByNetwork(n *baremetal.Node) bool {
	switch Interfaces(n)["boot"] {
	case "redfish-virtual-media", "redfish-https":
		return false
	}
	return true
}
