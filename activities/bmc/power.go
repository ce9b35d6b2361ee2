package bmc

// Power: read, and changed once.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// Power is idempotent by notes of what was sent and by the power that it finds:
// a node that is where it should be is success, and what has been sent is waited
// for. Errors: Invalid, Conflict (code PowerStateFailure), Unavailable, Superseded.
func (a *Activities) Power(ctx context.Context, in steps.NodePowerIn) (steps.NodePowerOut, error) {
	s, err := a.open(ctx, in.Fence, in.Of)
	if err != nil {
		return steps.NodePowerOut{}, err
	}
	defer s.close(ctx)
	now, err := s.driver.power(ctx)
	if err != nil || in.Target == "" {
		return steps.NodePowerOut{PowerState: string(now)}, err
	}
	p := change{session: s, name: in.Name, timeout: in.Timeout, now: now, until: time.Now().Add(a.Patience)}
	do := p.bring
	if in.Down {
		do = p.down
	}
	pending, err := do(ctx, provision.Power(in.Target))
	return steps.NodePowerOut{PowerState: string(p.now), Pending: pending}, err
}

// change is a node's power being changed.
type change struct {
	*session
	name    string
	timeout time.Duration
	now     provision.Power
	until   time.Time // when the step gives its answer
}

// bring does what the word asks for. A reboot is two changes, so that each of them
// can be seen to have happened; only a node that must not be turned off is told to
// restart in one.
func (c *change) bring(ctx context.Context, target provision.Power) (pending bool, err error) {
	switch target {
	case provision.PowerOff:
		return c.to(ctx, forceOff)
	case provision.PowerSoftOff:
		return c.to(ctx, gracefulShutdown)
	case provision.PowerSoft:
		if !c.driver.restarts() {
			return c.overOff(ctx, gracefulShutdown)
		}
		if _, sent := c.acts[c.act(turnOn)]; sent || c.now == provision.PowerOff && !c.sent(gracefulRestart) {
			return c.to(ctx, turnOn)
		}
		return c.to(ctx, gracefulRestart)
	case provision.PowerReboot:
		if c.node.DisablePowerOff && c.now != provision.PowerOff || c.sent(forceRestart) {
			return c.to(ctx, forceRestart)
		}
		return c.overOff(ctx, forceOff)
	}
	return c.to(ctx, turnOn)
}

// down does the first half of a reboot.
func (c *change) down(ctx context.Context, _ provision.Power) (pending bool, err error) {
	if c.node.DisablePowerOff || c.sent(turnOn) {
		return false, nil
	}
	return c.to(ctx, forceOff)
}

// overOff has the node be off, unless it is, and then on. One that must not be turned off
// stays as it is.
func (c *change) overOff(ctx context.Context, by reset) (pending bool, err error) {
	if !c.sent(turnOn) && (c.sent(by) || c.now != provision.PowerOff) {
		if c.node.DisablePowerOff {
			return false, faults.New(faults.Invalid, "UnsupportedHardwareFeature",
				"Node %s hardware does not support feature %s, which is required based upon the requested configuration.", c.node.UUID, provision.PowerSoftOff)
		}
		if pending, err := c.to(ctx, by); pending || err != nil {
			return pending, err
		}
	}
	return c.to(ctx, turnOn)
}

// act is the name of a reset among the operation's acts.
func (c *change) act(r reset) string { return c.name + "/" + string(r) }

func (c *change) sent(r reset) bool { _, sent := c.acts[c.act(r)]; return sent }

// to sends a reset, unless that was done or isn't needed, and waits for what it
// leads to.
func (c *change) to(ctx context.Context, r reset) (pending bool, err error) {
	act, sent := c.acts[c.act(r)]
	switch {
	case !sent && r.again() && c.now == leadsTo(r):
		return false, nil
	case !sent:
		if act, err = c.send(ctx, r); err != nil {
			return false, err
		}
	}
	if sent && !act.Answered && !r.again() {
		return false, faults.New(faults.Conflict, "PowerStateFailure", "the BMC did not answer when it was told to restart the node, and nobody knows whether it has")
	}
	for begun := time.Now().Add(-act.Age); c.now != leadsTo(r); {
		late := time.Since(begun)
		switch {
		case !act.Answered && late > c.Settle: // whoever was to send it may have been killed before
			if act, err = c.send(ctx, r); err != nil {
				return false, err
			}
			begun = time.Now()
		case late > c.timeout:
			return false, faults.New(faults.Conflict, "PowerStateFailure", "Failed to set node power state to %s.", leadsTo(r))
		case time.Now().After(c.until):
			return true, nil
		}
		if err := c.look(ctx); err != nil {
			return false, err
		}
	}
	return false, nil
}

// look reads the power again after a while.
func (c *change) look(ctx context.Context) (err error) {
	if err := c.Wait(ctx, c.Poll); err != nil {
		return err
	}
	c.now, err = c.driver.power(ctx)
	return err
}

// send notes a reset and sends it. One that the BMC refuses though the machine is
// where it would lead is success.
func (c *change) send(ctx context.Context, r reset) (baremetal.Act, error) {
	act := baremetal.Act{Name: c.act(r), SentAt: time.Now()}
	if err := c.note(ctx, act.Name); err != nil {
		return act, err
	}
	c.acts[act.Name] = act
	if err := c.driver.reset(ctx, r); err != nil {
		now, unseen := c.driver.power(ctx)
		if !faults.Is(err, faults.Unavailable) && unseen == nil && now == leadsTo(r) && r.again() {
			c.now = now
			return act, nil
		}
		return act, err
	}
	act.Answered = true
	c.acts[act.Name] = act
	if err := c.answered(ctx, act.Name); err != nil {
		return act, err
	}
	now, err := c.driver.power(ctx)
	if err == nil {
		c.now = now
	}
	return act, err
}
