package qemu

// The host's end of ports: bridges that taps are put on. libvirt makes a tap
// when a domain starts and removes it when it stops.

import (
	"context"
	"net"
	"regexp"
	"slices"
	"strconv"

	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// device names are what Linux takes and no program takes for an option.
var device = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`)

// plug makes the bridges that the ports are to be on.
func plug(ctx context.Context, ports []steps.Port) error {
	for _, p := range ports {
		if !device.MatchString(p.Bridge) {
			return faults.New(faults.Invalid, "VirtualInterfacePlugException",
				"Virtual interface plugin failed: %q is no bridge", p.Bridge)
		}
		if err := ensureBridge(ctx, p.Bridge, p.MTU); err != nil {
			return err
		}
	}
	return nil
}

func ensureBridge(ctx context.Context, name string, mtu int) error {
	if there, err := hasDevice(name); err != nil || there {
		return err
	}
	args := []string{"link", "add", "name", name}
	if mtu > 0 {
		args = append(args, "mtu", strconv.Itoa(mtu))
	}
	if err := run(ctx, "ip", append(args, "type", "bridge", "forward_delay", "0", "stp_state", "0")...); err != nil {
		if there, looked := hasDevice(name); looked == nil && there {
			return nil // another guest's start was first
		}
		return err
	}
	return run(ctx, "ip", "link", "set", "dev", name, "up")
}

// unplug removes taps that are left.
func unplug(ctx context.Context, ports []steps.Port) error {
	for _, p := range ports {
		tap := domain.TapName(p.ID)
		there, err := hasDevice(tap)
		if err != nil {
			return err
		}
		if there {
			if err := run(ctx, "ip", "link", "del", "dev", tap); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasDevice asks the kernel for a name in this network namespace.
func hasDevice(name string) (bool, error) {
	all, err := net.Interfaces()
	if err != nil {
		return false, broken(err)
	}
	return slices.ContainsFunc(all, func(i net.Interface) bool { return i.Name == name }), nil
}
