package ironic

// Power: the node's own, on and off.

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// shutdown is how long an instance may take to shut down, in seconds, before its node is
// turned off (shutdown_timeout).
const shutdown = 60

// power is what an action asks of the service.
type power struct {
	// to is the state that it leads to; soft, if there is one, is asked for first, and
	// needn't be served or heeded.
	to, soft nodes.TargetPowerState
	// reboot is done once for a mark, whatever the state.
	reboot bool
	// code and refusal are the original's words for one that the node does not heed.
	code, refusal string
	// does is what isn't a change of the power state.
	does func(d *Driver, ctx context.Context, n *nodes.Node, serverID string) error
}

// rebootKey is where a node's instance_info says what it was last rebooted for.
const rebootKey = "rebooted_for"

// Words of several actions.
const (
	powerOffFailure = "InstancePowerOffFailure"
	notPoweredOff   = "Failed to power off instance: %s"
	rebootFailure   = "InstanceRebootFailure"
	notRebooted     = "Failed to reboot instance: %s"
)

// actions is what each does; what isn't here no node can be asked for.
var actions = map[steps.PowerAction]power{
	steps.PowerStart:      {to: nodes.PowerOn, code: "InstancePowerOnFailure", refusal: "Failed to power on instance: %s"},
	steps.PowerStop:       {to: nodes.PowerOff, soft: nodes.SoftPowerOff, code: powerOffFailure, refusal: notPoweredOff},
	steps.PowerForceStop:  {to: nodes.PowerOff, code: powerOffFailure, refusal: notPoweredOff},
	steps.PowerReboot:     {to: nodes.Rebooting, soft: nodes.SoftRebooting, reboot: true, code: rebootFailure, refusal: notRebooted},
	steps.PowerHardReboot: {to: nodes.Rebooting, reboot: true, code: rebootFailure, refusal: notRebooted},
	steps.PowerInjectNMI:  {reboot: true, does: (*Driver).injectNMI},
	// Nothing is thrown away until the service does it, which turns the node off for that.
	steps.PowerFreeze:     {does: nothing},
	steps.PowerUnrescue:   {does: (*Driver).unrescue},
	steps.PowerUndoRescue: {does: (*Driver).unrescue},
	// No resize has set anything aside.
	steps.PowerKeepResize: {does: nothing},
	steps.PowerUndoResize: {does: nothing},
}

func nothing(*Driver, context.Context, *nodes.Node, string) error { return nil }

// Power drives the node to the state that the action leads to. A reboot is noted before it
// is asked for: one that was asked for and not answered isn't asked for again, since
// nobody could tell that it was the second. One that was refused, since somebody else works
// on the node, is for another attempt.
func (d *Driver) Power(ctx context.Context, serverID string, action steps.PowerAction, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	act, ok := actions[action]
	if !ok {
		return libvirt.Guest{}, notSupported(string(action))
	}
	n, err := d.guest(ctx, serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if err := confirm(); err != nil {
		return libvirt.Guest{}, err
	}
	if !act.reboot || n.InstanceInfo[rebootKey] != mark {
		err = d.act(ctx, n, serverID, act, mark)
	}
	if err == nil {
		n, err = d.settled(ctx, serverID)
	}
	if err == nil {
		err = act.missed(n)
	}
	if err != nil {
		return libvirt.Guest{}, err
	}
	return guestOf(n), nil
}

// act does the action, and notes one that is a reboot.
func (d *Driver) act(ctx context.Context, n *nodes.Node, serverID string, act power, mark string) (err error) {
	const noted = "/instance_info/" + rebootKey
	if act.reboot {
		err = d.patch(ctx, nodes.UpdateOperation{Op: nodes.AddOp, Path: noted, Value: mark})
	}
	switch {
	case err != nil:
	case act.does != nil:
		err = act.does(d, ctx, n, serverID)
	case act.reboot || n.PowerState != string(act.to):
		err = d.turn(ctx, serverID, act)
	}
	if act.reboot && gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		err = errors.Join(err, d.patch(ctx, nodes.UpdateOperation{Op: nodes.RemoveOp, Path: noted}))
	}
	return err
}

// missed is the error of an action that has not led its node to where it leads. What is
// asked for anew takes the node's last error from it, so that one of a reboot is the
// reboot's.
func (p power) missed(n *nodes.Node) error {
	to := p.to
	if p.reboot {
		to = nodes.PowerOn
	}
	if p.to == "" || n.PowerState == string(to) && (!p.reboot || n.LastError == "") {
		return nil
	}
	why := n.LastError
	if why == "" {
		why = fmt.Sprintf("node %s is in power state '%s'", n.UUID, n.PowerState)
	}
	return faults.New(faults.Conflict, p.code, p.refusal, why)
}

// turn asks for the state, softly first.
func (d *Driver) turn(ctx context.Context, serverID string, act power) error {
	if act.soft != "" {
		err := d.ask(ctx, nodes.PowerStateOpts{Target: act.soft, Timeout: shutdown})
		switch {
		case faults.Is(err, faults.Invalid): // its hardware knows no soft change
		case err != nil || act.reboot:
			return err
		default:
			if n, err := d.settled(ctx, serverID); err != nil || n.PowerState == string(act.to) {
				return err
			}
		}
	}
	return d.ask(ctx, nodes.PowerStateOpts{Target: act.to})
}

func (d *Driver) ask(ctx context.Context, o nodes.PowerStateOpts) error {
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	if err := nodes.ChangePowerState(ctx, client, d.id, o).ExtractErr(); err != nil {
		return answered(err)
	}
	return nil
}

// settled waits until nobody changes the node's power.
func (d *Driver) settled(ctx context.Context, serverID string) (*nodes.Node, error) {
	return d.follow(ctx, func(n *nodes.Node) (bool, error) {
		if d.serverOf(n) != serverID {
			return false, faults.New(faults.NotFound, "GuestNotFound", "node %s is no guest of server %s", d.id, serverID)
		}
		return n.TargetPowerState == "", nil
	})
}

// injectNMI gives the node a non-maskable interrupt.
func (d *Driver) injectNMI(ctx context.Context, _ *nodes.Node, _ string) error {
	client, err := d.service.client(ctx)
	if err != nil {
		return err
	}
	if err := nodes.InjectNMI(ctx, client, d.id).ExtractErr(); err != nil {
		return answered(err)
	}
	return nil
}

// states has the node come to a provision state by a verb, if one is to be asked for;
// failed is where it ends up otherwise.
func (d *Driver) states(ctx context.Context, serverID string, ask nodes.ProvisionStateOpts, to, failed nodes.ProvisionState, code, refusal string) error {
	if ask.Target != "" {
		if err := d.provision(ctx, ask); err != nil {
			return err
		}
	}
	_, err := d.follow(ctx, func(n *nodes.Node) (bool, error) {
		switch state := nodes.ProvisionState(n.ProvisionState); {
		case d.serverOf(n) != serverID:
			return false, faults.New(faults.NotFound, "GuestNotFound", "node %s is no guest of server %s", d.id, serverID)
		case state == failed:
			return false, faults.New(faults.Conflict, code, "%s: %s", fmt.Sprintf(refusal, serverID), n.LastError)
		default:
			return state == to, nil
		}
	})
	return err
}
