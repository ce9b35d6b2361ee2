package qemu

// What libvirt says of a domain, and what that is to Holdfast.

import (
	"context"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
)

// state is a domain's at one moment.
type state struct {
	missing bool
	// power is a power state; NoState if missing.
	power int
	// active says that QEMU runs; run is libvirt's number of this run.
	active bool
	run    int32
	// gone says that it has ended because it went to another host, leaving that it
	// stands still until libvirt knows whether it did.
	gone, leaving bool
	// split says that a part of it is on another host, where it runs before its
	// memory is there, torn that the way between the two has broken.
	split, torn bool
	// starting says that libvirt is at work on its start: it will run, or not.
	starting bool
}

// powers by libvirt's states. One that is shutting down still runs.
var powerStates = map[golibvirt.DomainState]int{
	golibvirt.DomainNostate:     libvirt.NoState,
	golibvirt.DomainRunning:     libvirt.Running,
	golibvirt.DomainBlocked:     libvirt.Running,
	golibvirt.DomainPaused:      libvirt.Paused,
	golibvirt.DomainShutdown:    libvirt.Running,
	golibvirt.DomainShutoff:     libvirt.Shutdown,
	golibvirt.DomainCrashed:     libvirt.Crashed,
	golibvirt.DomainPmsuspended: libvirt.Suspended,
}

// lookup finds the guest's domain. Errors: NotFound.
func (g *guest) lookup(ctx context.Context) (golibvirt.Domain, error) {
	var domain golibvirt.Domain
	err := g.call(ctx, callTime, "find the domain", func(rpc *golibvirt.Libvirt) (err error) {
		domain, err = rpc.DomainLookupByUUID(golibvirt.UUID(g.uuid))
		return err
	})
	return domain, err
}

// state looks at the guest's domain.
func (g *guest) state(ctx context.Context) (state, error) {
	domain, err := g.lookup(ctx)
	if err == nil {
		var s state
		if s, err = g.driver.stateOf(ctx, domain); err == nil {
			return s, nil
		}
	}
	if faults.Is(err, faults.NotFound) {
		return state{missing: true}, nil
	}
	return state{}, err
}

// stateOf looks at a domain: its state, and whether its memory was saved.
func (d *Driver) stateOf(ctx context.Context, domain golibvirt.Domain) (state, error) {
	s := state{run: domain.ID}
	err := d.daemon.call(ctx, callTime, "read the domain's state", func(rpc *golibvirt.Libvirt) error {
		number, reason, err := rpc.DomainGetState(domain, 0)
		if err != nil {
			return err
		}
		s.power = powerStates[golibvirt.DomainState(number)]
		s.active = golibvirt.DomainState(number) != golibvirt.DomainShutoff
		s.gone = !s.active && golibvirt.DomainShutoffReason(reason) == golibvirt.DomainShutoffMigrated
		switch golibvirt.DomainState(number) {
		case golibvirt.DomainRunning:
			s.torn = golibvirt.DomainRunningReason(reason) == golibvirt.DomainRunningPostcopyFailed
			s.split = s.torn
		case golibvirt.DomainPaused:
			why := golibvirt.DomainPausedReason(reason)
			s.starting = why == golibvirt.DomainPausedStartingUp
			s.leaving = why == golibvirt.DomainPausedMigration
			s.torn = why == golibvirt.DomainPausedPostcopyFailed
			s.split = s.torn || why == golibvirt.DomainPausedPostcopy
		}
		if s.active {
			return nil
		}
		saved, err := rpc.DomainHasManagedSaveImage(domain, 0)
		if saved == 1 {
			s.power = libvirt.Suspended
		}
		return err
	})
	return s, err
}

// until waits for the domain to be as wanted, for as long as patience; false if
// it isn't by then.
func (g *guest) until(ctx context.Context, patience time.Duration, wanted func(state) bool) (bool, error) {
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(g.driver.poll)
	defer tick.Stop()
	for {
		s, err := g.state(ctx)
		if err != nil || wanted(s) {
			return err == nil, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
	}
}

// settled looks at the guest's domain when libvirt isn't starting it: a call that
// was given up may have left it at that. Errors: Unavailable, also if it stays so,
// which only libvirtd's restart ends (internal/libvirtd).
func (g *guest) settled(ctx context.Context) (now state, err error) {
	over, err := g.until(ctx, g.driver.patience, func(s state) bool { now = s; return !s.starting })
	if err == nil && !over {
		err = faults.New(faults.Unavailable, "GuestStarting", "libvirt does not come to an end of starting the guest of server %s", g.id)
	}
	return now, err
}

func isOff(s state) bool { return !s.active }

func (g *guest) call(ctx context.Context, limit time.Duration, what string, f func(*golibvirt.Libvirt) error) error {
	return g.driver.daemon.call(ctx, limit, what, f)
}

// domain calls f with the guest's domain.
func (g *guest) domain(ctx context.Context, limit time.Duration, what string, f func(*golibvirt.Libvirt, golibvirt.Domain) error) error {
	domain, err := g.lookup(ctx)
	if err != nil {
		return err
	}
	return g.call(ctx, limit, what, func(rpc *golibvirt.Libvirt) error { return f(rpc, domain) })
}
