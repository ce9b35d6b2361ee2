package nodes

// What a node's management interface can be told.

import (
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// bootDevices are what nodes can be told to start from, by their management interface.
var bootDevices = map[string][]string{
	"redfish":  {provision.BootPXE, provision.BootDisk, provision.BootCDROM, provision.BootBIOS, provision.BootUEFIHTTP},
	"ipmitool": {provision.BootPXE, provision.BootDisk, provision.BootCDROM, provision.BootBIOS, provision.BootSafe},
	"fake":     {provision.BootPXE},
	"noop":     {provision.BootPXE, provision.BootDisk},
}

// BootDevices are what a node can be told to start from. Errors: Invalid, this release
// doesn't have its management interface.
func BootDevices(n *baremetal.Node) ([]string, error) {
	name := Interfaces(n)["management"]
	devices, ok := bootDevices[name]
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has no management interface %q", name)
	}
	return devices, nil
}

// MayManage says whether a node's BMC can be told something. Errors: Invalid.
func MayManage(box *secrets.Box, n *baremetal.Node) error {
	if _, err := BootDevices(n); err != nil {
		return err
	}
	return mayBeReached(box, n, Interfaces(n)["management"])
}

// What is done with virtual media, as it is called where it can't be.
const (
	GetMedia    = "get_virtual_media"
	AttachMedia = "attach_virtual_media"
	DetachMedia = "detach_virtual_media"
)

// HasDrives says whether something can be done with virtual media of a node. Errors:
// Invalid.
func HasDrives(n *baremetal.Node, what string) error {
	if Interfaces(n)["management"] == "redfish" {
		return nil
	}
	return hardware.Unsupported(n.Driver, what)
}

// MayStartFrom says whether a node can be told to start from a device. Errors: Invalid.
func MayStartFrom(n *baremetal.Node, device string) error {
	devices, err := BootDevices(n)
	if err != nil || slices.Contains(devices, device) {
		return err
	}
	if Interfaces(n)["management"] == "noop" {
		return faults.New(faults.Invalid, "InvalidParameterValue", "Invalid boot device %s specified, supported are %s.", device, strings.Join(devices, ", "))
	}
	return faults.New(faults.Invalid, "InvalidParameterValue", "Invalid boot device %s specified.", device)
}
