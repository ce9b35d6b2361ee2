package nodes

// What a node's power interface can do.

import (
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// powers are the words that each implementation of the power interface knows.
var powers = map[string][]provision.Power{
	"redfish":  provision.Powers(),
	"ipmitool": provision.Powers(),
	"fake":     provision.Powers(),
	"agent":    {provision.PowerReboot, provision.PowerSoft},
}

// PowerInterface names a node's power interface; empty if it has none.
func PowerInterface(n *baremetal.Node) string {
	if n.PowerInterface == nil {
		return ""
	}
	return *n.PowerInterface
}

// HasPower says whether this release has a node's power interface, and HasBMC whether
// that can turn the machine on and off.
func HasPower(n *baremetal.Node) bool { return powers[PowerInterface(n)] != nil }

// HasBMC is told of at HasPower.
func HasBMC(n *baremetal.Node) bool {
	return slices.Contains(powers[PowerInterface(n)], provision.PowerOn)
}

// MayPower says whether a node's driver can be asked for a change of its power.
// Errors: Invalid.
func MayPower(box *secrets.Box, n *baremetal.Node, target provision.Power) error {
	if err := MayBeReached(box, n); err != nil {
		return err
	}
	if !slices.Contains(powers[PowerInterface(n)], target) {
		return faults.New(faults.Invalid, "InvalidParameterValue", "The driver %s does not support the power state, %s", n.Driver, target)
	}
	return nil
}

// reached read how BMCs are reached that are handled by an interface of a name; the other
// interfaces need to know nothing.
var reached = map[string]func(Info) error{
	"redfish": func(i Info) error {
		_, err := i.Redfish()
		return err
	},
	"ipmitool": func(i Info) error {
		_, err := i.IPMI()
		return err
	},
}

// MayBeReached says whether a node's row says how its BMC is reached. Errors:
// Invalid.
func MayBeReached(box *secrets.Box, n *baremetal.Node) error {
	return mayBeReached(box, n, PowerInterface(n))
}

func mayBeReached(box *secrets.Box, n *baremetal.Node, by string) error {
	read := reached[by]
	if read == nil {
		return nil
	}
	info, err := DriverInfo(box, n)
	if err != nil {
		return err
	}
	return read(info)
}
