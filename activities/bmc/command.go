package bmc

// Command: what a node's BMC is told by a request of its own.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// command is one of them being done.
type command struct {
	*session
	manager
	steps.NodeCommandIn
}

// commands are how each of them is done.
var commands = map[steps.NodeCommand]func(context.Context, command) (steps.NodeCommandOut, error){
	steps.SetBootDevice: func(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
		return out, c.setBootDevice(ctx, c.Ask.Device, c.Ask.Persistent)
	},
	steps.SetIndicator: func(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
		return out, c.setLamp(ctx, c.Ask.Component, c.Ask.Indicator, c.Ask.State)
	},
	steps.InjectNMI:     interrupt,
	steps.SetBootMode:   changeBootMode,
	steps.SetSecureBoot: changeSecureBoot,
	steps.Subscribe:     subscribe,
	steps.Unsubscribe:   unsubscribe,
	steps.ResetBMC:      resetBMC,
	steps.SendRaw:       sendRaw,
	steps.AttachMedia:   attachMedia,
	steps.DetachMedia: func(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
		return out, c.detachMedia(ctx, c.Ask.Media...)
	},
}

// Command is idempotent by what it finds: a setting that is there is not sent again.
// An interrupt is noted before it is sent, and sent once. Errors: as in
// steps.CommandActivities.
func (a *Activities) Command(ctx context.Context, in steps.NodeCommandIn) (steps.NodeCommandOut, error) {
	s, err := a.open(ctx, in.Fence, in.Of)
	if err != nil {
		return steps.NodeCommandOut{}, err
	}
	defer s.close(ctx)
	do, known := commands[in.Ask.Command]
	if !known {
		return steps.NodeCommandOut{}, faults.New(faults.Invalid, "InvalidParameterValue", "this release has no command %q", in.Ask.Command)
	}
	m, err := s.manager()
	if err != nil {
		return steps.NodeCommandOut{}, err
	}
	return do(ctx, command{s, m, in})
}

// theCommand is the act of a command that is done once.
const theCommand = steps.CommandAct

func interrupt(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	return out, c.sendOnce(ctx, func() error { return c.injectNMI(ctx) },
		faults.New(faults.Conflict, "NodeNotInterrupted", "the BMC did not answer when it was told to interrupt the node, and nobody knows whether it has"))
}

// sendOnce sends what must not be sent twice. One that was sent and has had no answer is
// unknown to all.
func (c command) sendOnce(ctx context.Context, send func() error, unknown error) error {
	if act, sent := c.acts[theCommand]; sent {
		if !act.Answered {
			return unknown
		}
		return nil
	}
	if err := c.note(ctx, theCommand); err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	return c.answered(ctx, theCommand)
}

// changeBootMode sends the mode, unless the machine has it already or was started anew
// for it. A machine that doesn't say how it boots is believed.
func changeBootMode(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	want, now := c.Ask.Mode, ""
	look := func() bool {
		now, err = c.bootMode(ctx)
		return err == nil && now == want
	}
	there := look()
	if !there && !c.Restarted {
		silent := now == ""
		if err := c.setBootMode(ctx, want); err != nil {
			return out, err
		}
		there = look() || silent
	}
	if there {
		out.BootMode = &want
		return out, nil
	}
	return c.later(ctx, out, err)
}

// changeSecureBoot is the same for whether only signed systems are started.
func changeSecureBoot(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	var now *bool
	look := func() bool {
		now, err = c.secureBoot(ctx)
		return err == nil && now != nil && *now == c.Ask.Secure
	}
	there := look()
	if !there && !c.Restarted {
		if err := c.setSecureBoot(ctx, c.Ask.Secure); err != nil {
			return out, err
		}
		there = look()
	}
	if there {
		out.SecureBoot = &c.Ask.Secure
		return out, nil
	}
	return c.later(ctx, out, err)
}

// later is the answer while a setting has not taken effect: the machine is to be
// started anew, or was. One that can't be looked at just now is looked at again.
func (c command) later(ctx context.Context, out steps.NodeCommandOut, unseen error) (steps.NodeCommandOut, error) {
	if unseen != nil && !c.Restarted {
		return out, unseen
	}
	power, err := c.driver.power(ctx)
	out.Restart, out.Pending, out.PowerState = !c.Restarted, c.Restarted, string(power)
	return out, err
}
