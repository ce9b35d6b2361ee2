package cloud

// What runs the guests: a libvirt of the cloud's own.

import (
	"context"
	"time"

	"holdfast.dev/dev/libvirt"
)

// libvirt is the cloud's; nil with simulated hosts.
func (c *cloud) libvirt() *libvirt.Libvirt {
	if c.Driver != DriverLibvirt {
		return nil
	}
	return &libvirt.Libvirt{Dir: c.path("libvirt"), LogFile: c.log("libvirtd"), Restart: revival}
}

// startLibvirt starts virtlogd and libvirtd, and has the guests go on that the
// last stop has ended.
func (c *cloud) startLibvirt(ctx context.Context) error {
	l := c.libvirt()
	if l == nil {
		return nil
	}
	c.stops = append(c.stops, l.StopVirtlogd)
	if err := l.Prepare(ctx); err != nil {
		return err
	}
	if err := c.run(ctx, l.Process()); err != nil {
		return err
	}
	c.libvirtRuns = true
	keeping, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		l.Keep(keeping, func(err error) { c.say("%v\n", err) })
	}()
	c.stops = append(c.stops, func() error { stop(); <-kept; return nil })
	began := time.Now()
	resumed, err := l.Resume(ctx)
	if err != nil {
		// The cloud is there for all the other guests.
		c.say("%v\n", err)
	}
	if resumed > 0 {
		c.say("%-12s %d go on, after %.1f s\n", "guests", resumed, time.Since(began).Seconds())
	}
	return ctx.Err()
}

// park ends the guests, each with its memory saved. Nothing of Holdfast runs
// any more, so that nobody sees them off.
func (c *cloud) park() error {
	l := c.libvirt()
	if l == nil || !c.libvirtRuns {
		return nil
	}
	began := time.Now()
	parked, err := l.Park(context.Background())
	if parked > 0 {
		c.say("%-12s %d saved, after %.1f s\n", "guests", parked, time.Since(began).Seconds())
	}
	return err
}
