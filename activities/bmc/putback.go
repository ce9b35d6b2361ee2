package bmc

// What is taken back of a node that no operation has any more: the undo of its ramdisk
// that is owed (activities/boot).

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store/baremetal"
)

// PutBack is idempotent by what it finds: nothing is in the node's drive, it starts as
// it would by itself, and it is off if that is asked for, unless it is never turned
// off. Due says what has to be done, when nobody else is at the BMC. It gives the power
// that the node has come to; empty if that was not changed. An operation that begins
// meanwhile comes to the BMC afterwards. Errors: NotFound, Invalid, Unavailable (an
// operation has the node, too).
func (a *Activities) PutBack(ctx context.Context, id string, due func() (due, off bool, err error)) (provision.Power, error) {
	if _, err := baremetal.Nodes.Find(ctx, a.db.Pool, id, false); err != nil {
		return "", err
	}
	held, err := baremetal.AwaitLease(ctx, a.db, id, lease, a.Poll)
	if err != nil {
		return "", err
	}
	defer held.End(ctx)
	s := &session{Activities: a, Lease: held}
	if s.node, err = baremetal.Nodes.Find(ctx, a.db.Pool, id, false); err != nil {
		return "", err
	}
	if s.node.OperationID != nil {
		return "", faults.New(faults.Unavailable, "NodeLocked", "an operation has the node")
	}
	is, off, err := due()
	if err != nil || !is {
		return "", err
	}
	if s.driver, err = s.openDriver(ctx); err != nil {
		return "", err
	}
	defer s.driver.close(ctx)
	var power provision.Power
	if off && !s.node.DisablePowerOff {
		if err := s.turnOff(ctx); err != nil {
			return "", err
		}
		power = provision.PowerOff
	}
	return power, s.asUsual(ctx)
}

// turnOff has the node be off, whatever was sent before.
func (s *session) turnOff(ctx context.Context) error {
	now, err := s.driver.power(ctx)
	if err != nil || now == provision.PowerOff {
		return err
	}
	if err := s.Keep(ctx); err != nil {
		return err
	}
	if err := s.driver.reset(ctx, forceOff); err != nil {
		return err
	}
	for until := time.Now().Add(s.Patience); now != provision.PowerOff; {
		if time.Now().After(until) {
			return faults.New(faults.Unavailable, "PowerStateFailure", "Failed to set node power state to %s.", provision.PowerOff)
		}
		if err := s.Wait(ctx, s.Poll); err != nil {
			return err
		}
		if now, err = s.driver.power(ctx); err != nil {
			return err
		}
	}
	return nil
}

// asUsual has nothing be in the node's drive, and the node start by itself.
func (s *session) asUsual(ctx context.Context) error {
	d, ok := s.driver.(drive)
	if !ok {
		return s.startFrom(ctx, AsUsual)
	}
	if err := d.eject(ctx); err != nil {
		return err
	}
	return d.bootFrom(ctx, AsUsual)
}
