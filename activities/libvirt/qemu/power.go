package qemu

// Changes of a guest's power: each drives to one known state.

import (
	"context"
	"slices"
	"strconv"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// change is what an action does to one guest at one moment.
type change struct {
	*guest
	record  record
	now     state
	mark    string
	confirm libvirt.Confirm
}

// actions are the table of power: from which states an action starts, where it
// leads to, and how. In the state that it leads to there is nothing to do,
// reboots excepted: those are done once for a mark.
var actions = map[steps.PowerAction]struct {
	from   []int
	to     int
	reboot bool
	do     func(*change, context.Context) error
}{
	steps.PowerStart:     {from: []int{libvirt.NoState, libvirt.Shutdown, libvirt.Crashed, libvirt.Paused, libvirt.Suspended}, to: libvirt.Running, do: (*change).turnOn},
	steps.PowerStop:      {from: []int{libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed}, to: libvirt.Shutdown, do: (*change).turnOff},
	steps.PowerForceStop: {from: []int{libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed}, to: libvirt.Shutdown, do: (*change).forceOff},
	steps.PowerPause:     {from: []int{libvirt.Running}, to: libvirt.Paused, do: (*change).pause},
	steps.PowerUnpause:   {from: []int{libvirt.Paused}, to: libvirt.Running, do: (*change).unpause},
	steps.PowerSuspend:   {from: []int{libvirt.Running}, to: libvirt.Suspended, do: (*change).suspend},
	steps.PowerResume:    {from: []int{libvirt.Suspended}, to: libvirt.Running, do: (*change).turnOn},
	steps.PowerReboot:    {from: []int{libvirt.Running}, to: libvirt.Running, reboot: true, do: (*change).softReboot},
	steps.PowerHardReboot: {from: []int{libvirt.NoState, libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed, libvirt.Shutdown},
		to: libvirt.Running, reboot: true, do: (*change).hardReboot},
	steps.PowerFreeze:     {from: anyState, to: libvirt.Paused, do: (*change).freeze},
	steps.PowerInjectNMI:  {from: []int{libvirt.Running, libvirt.Paused}, to: asItWas, do: (*change).injectNMI},
	steps.PowerUnrescue:   {from: anyState, to: asItWas, do: (*change).unrescue},
	steps.PowerUndoRescue: {from: anyState, to: asItWas, do: (*change).undoRescue},
	steps.PowerKeepResize: {from: anyState, to: asItWas, do: (*change).keepResize},
	steps.PowerUndoResize: {from: anyState, to: asItWas, do: (*change).undoResize},
}

// anyState is from wherever the guest is; asItWas is no state of a guest.
var anyState = []int{libvirt.NoState, libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed, libvirt.Shutdown}

const asItWas = -1

// Power drives the guest to the state that the action leads to.
func (d *Driver) Power(ctx context.Context, serverID string, action steps.PowerAction, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	a, ok := actions[action]
	if !ok {
		return libvirt.Guest{}, faults.New(faults.Invalid, "UnknownPowerAction", "power action %q is unknown", action)
	}
	g, err := d.guest(serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	c := &change{guest: g, mark: mark, confirm: confirm}
	if c.record, err = g.read(); err != nil {
		return libvirt.Guest{}, err
	}
	if c.now, err = g.state(ctx); err != nil {
		return libvirt.Guest{}, err
	}
	act := func(ctx context.Context) error {
		if a.reboot && c.rebooted() {
			return nil
		}
		if !a.reboot && c.now.power == a.to {
			return nil
		}
		if !slices.Contains(a.from, c.now.power) && !(a.reboot && c.record.Reboot.Mark == mark) {
			return faults.New(faults.Conflict, "InstanceInvalidState", "can't %s a guest in power state %d", action, c.now.power)
		}
		return a.do(c, ctx)
	}
	if err := g.steps(ctx, subStep{"power." + string(action), act}, subStep{"power.done", nil}); err != nil {
		return libvirt.Guest{}, err
	}
	return d.Observe(ctx, serverID)
}

// turnOn starts a domain that is off, defined anew if libvirt has lost it, and
// lets one go on that is paused. A saved memory is taken up by the start.
func (c *change) turnOn(ctx context.Context) error {
	if c.now.power == libvirt.Paused {
		return c.unpause(ctx)
	}
	if err := c.renew(ctx); err != nil {
		return err
	}
	if c.now.missing {
		if err := c.define(ctx, c.record.Spec); err != nil {
			return err
		}
	}
	return c.start(ctx, c.record.Spec, c.confirm)
}

func (c *change) pause(ctx context.Context) error {
	if err := c.confirm(); err != nil {
		return err
	}
	return c.domain(ctx, callTime, "pause the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainSuspend(d) })
}

// freeze pauses a guest that runs.
func (c *change) freeze(ctx context.Context) error {
	if c.now.power != libvirt.Running {
		return nil
	}
	return c.pause(ctx)
}

func (c *change) unpause(ctx context.Context) error {
	if err := c.confirm(); err != nil {
		return err
	}
	return c.domain(ctx, callTime, "let the domain go on", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainResume(d) })
}

// suspend writes the guest's memory to disk and ends it. A cancel ends the
// writing, and the guest goes on.
func (c *change) suspend(ctx context.Context) error {
	if err := c.confirm(); err != nil {
		return err
	}
	saving, done := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		<-saving.Done()
		if ctx.Err() != nil {
			// The save then says that it was aborted, or is over already.
			_ = c.domain(context.WithoutCancel(ctx), callTime, "abort the save",
				func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainAbortJob(d) })
		}
	}()
	err := c.domain(ctx, saveTime, "save the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainManagedSave(d, 0) })
	done()
	<-watched
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// injectNMI interrupts the guest, once for a mark: noted when it is done, so one
// that is killed before that may interrupt it again.
func (c *change) injectNMI(ctx context.Context) error {
	if c.record.NMI == c.mark {
		return nil
	}
	if err := c.confirm(); err != nil {
		return err
	}
	err := c.domain(ctx, callTime, "interrupt the guest", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainInjectNmi(d, 0) })
	if err != nil {
		return err
	}
	c.record.NMI = c.mark
	return c.write(c.record)
}

// turnOff asks the guest to shut down, again and again for as long as the image
// gives it, and then ends it. A saved memory is dropped.
func (c *change) turnOff(ctx context.Context) error {
	if c.now.power == libvirt.Running {
		if off, err := c.shutDown(ctx, c.patience()); err != nil || off {
			return err
		}
	}
	return c.forceOff(ctx)
}

func (c *change) forceOff(ctx context.Context) error {
	if c.now.power == libvirt.Suspended {
		if err := c.confirm(); err != nil {
			return err
		}
		return c.domain(ctx, callTime, "drop the saved memory", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
			return rpc.DomainManagedSaveRemove(d, 0)
		})
	}
	return c.kill(ctx, c.confirm)
}

const (
	// shutdownPatience is how long guests have whose image says nothing
	// (shutdown_timeout), askAgain the time between two ACPI signals.
	shutdownPatience = 60 * time.Second
	askAgain         = 10 * time.Second
	// rebootPatience is how long a soft reboot waits (wait_soft_reboot_seconds).
	rebootPatience = 120 * time.Second
	// maxPatience fits into the time of a step.
	maxPatience = 4 * time.Minute
)

// patience is what the image's os_shutdown_timeout says, in seconds.
func (c *change) patience() time.Duration {
	seconds, err := strconv.Atoi(c.record.Spec.ImageProperties["os_shutdown_timeout"])
	if err != nil || seconds < 0 {
		return shutdownPatience
	}
	return min(time.Duration(seconds)*time.Second, maxPatience)
}

// shutDown presses the guest's power button; false if it still runs afterwards.
func (c *change) shutDown(ctx context.Context, patience time.Duration) (bool, error) {
	for deadline := time.Now().Add(patience); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		if err := c.confirm(); err != nil {
			return false, err
		}
		err := c.domain(ctx, callTime, "ask the guest to shut down", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
			return rpc.DomainShutdownFlags(d, golibvirt.DomainShutdownAcpiPowerBtn)
		})
		if err != nil && !faults.Is(err, faults.Conflict) { // in the wrong state: it is off by now
			return false, err
		}
		if off, err := c.until(ctx, min(askAgain, left), isOff); err != nil || off {
			return off, err
		}
	}
}

// rebooted says that the mark's reboot is over. One that was interrupted is
// over too if the domain has been started since: its run has another number.
func (c *change) rebooted() bool {
	last := c.record.Reboot
	return last.Mark == c.mark && (last.Done || c.now.power == libvirt.Running && c.now.run != last.From)
}

// begin notes the reboot before anything is done for it.
func (c *change) begin() error {
	if c.record.Reboot.Mark == c.mark {
		return nil // interrupted: From is that of its first try
	}
	c.record.Reboot = reboot{Mark: c.mark, From: c.now.run}
	return c.write(c.record)
}

// softReboot lets the guest shut down and starts it again; one that doesn't
// within its time is rebooted hard.
func (c *change) softReboot(ctx context.Context) error {
	if err := c.confirm(); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	off := isOff(c.now)
	if !off {
		var err error
		if off, err = c.shutDown(ctx, min(rebootPatience, c.rebootPatience())); err != nil {
			return err
		}
	}
	if !off {
		return c.hardReboot(ctx)
	}
	return c.finish(ctx)
}

// rebootPatience is the image's, where it is shorter.
func (c *change) rebootPatience() time.Duration {
	if _, ok := c.record.Spec.ImageProperties["os_shutdown_timeout"]; ok {
		return c.patience()
	}
	return rebootPatience
}

// hardReboot ends the guest, defines it as its spec says, and starts it.
func (c *change) hardReboot(ctx context.Context) error {
	if err := c.begin(); err != nil {
		return err
	}
	if err := c.kill(ctx, c.confirm); err != nil {
		return err
	}
	if c.now.power == libvirt.Suspended {
		if err := c.forceOff(ctx); err != nil {
			return err
		}
	}
	if err := c.renew(ctx); err != nil {
		return err
	}
	c.record.Rescue = nil // it runs from its own disk from here on
	if err := c.dropRescue(); err != nil {
		return err
	}
	for _, f := range []func(context.Context, steps.ServerSpec) error{c.makeDisks, c.makeConfigDrive, c.define} {
		if err := f(ctx, c.record.Spec); err != nil {
			return err
		}
	}
	return c.finish(ctx)
}

// finish starts the guest and notes that the reboot is done.
func (c *change) finish(ctx context.Context) error {
	if c.driver.onStep != nil {
		c.driver.onStep(c.id, "power.off")
	}
	if err := c.start(ctx, c.record.Spec, c.confirm); err != nil {
		return err
	}
	c.record.Reboot.Done = true
	return c.write(c.record)
}
