package bmc

// Drivers: how a node's BMC is talked to.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
)

// reset is what a BMC can be told to do to its machine's power.
type reset string

// The resets, in Redfish's words.
const (
	turnOn           reset = "On"
	forceOff         reset = "ForceOff"
	forceRestart     reset = "ForceRestart"
	gracefulShutdown reset = "GracefulShutdown"
	gracefulRestart  reset = "GracefulRestart"
)

// again says whether a reset may be sent again to a machine that shows nothing of
// it: one that leads to a state does no harm, a restart would be a second one.
func (r reset) again() bool { return r != forceRestart && r != gracefulRestart }

// driver talks to one machine's BMC. What it can't reach or is refused by is a
// fault: Unavailable where another attempt may help.
type driver interface {
	// power is the machine's power now; empty if its BMC can't say.
	power(ctx context.Context) (provision.Power, error)
	// reset is sent once.
	reset(ctx context.Context, r reset) error
	// restarts says whether there is a reset that has the machine's system end, and begin anew.
	restarts() bool
	// boots is how the machine boots, as far as its BMC says.
	boots(ctx context.Context) firmware
	// close lets go of the BMC, also when ctx has ended.
	close(ctx context.Context)
}

// openDriver makes the driver of the node's power interface.
func (s *session) openDriver(ctx context.Context) (driver, error) {
	switch name := nodes.PowerInterface(s.node); name {
	case "redfish":
		info, err := nodes.DriverInfo(s.box, s.node)
		if err != nil {
			return nil, err
		}
		target, err := info.Redfish()
		if err != nil {
			return nil, err
		}
		return s.openRedfish(ctx, target)
	case "ipmitool":
		info, err := nodes.DriverInfo(s.box, s.node)
		if err != nil {
			return nil, err
		}
		target, err := info.IPMI()
		if err != nil {
			return nil, err
		}
		return s.openIPMI(ctx, target)
	case "fake":
		return newFake(s.node, s.acts), nil
	case "agent":
		return agentPower{}, nil
	default:
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has no power interface %q", name)
	}
}

// agentPower is the power of machines without a BMC, by what runs on them.
type agentPower struct{}

func (agentPower) power(context.Context) (provision.Power, error) { return provision.PowerOn, nil }

func (agentPower) reset(context.Context, reset) error {
	return faults.New(faults.Conflict, "PowerStateFailure", "no agent runs on the node that could restart it")
}

func (agentPower) restarts() bool { return true }

func (agentPower) close(context.Context) {}
