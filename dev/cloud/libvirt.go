package cloud

// What runs the guests: a libvirt of the cloud's own, or one on each of several
// hosts.

import (
	"context"
	"errors"
	"os"
	"time"

	"holdfast.dev/dev/hosts"
	"holdfast.dev/dev/libvirt"
)

// nameHosts says what the machine is to be made into.
func (c *cloud) nameHosts() error {
	if c.Driver != DriverLibvirt || c.Hosts <= 1 {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	c.several, err = hosts.New(hosts.Options{
		Dir: c.Dir, Name: name, Count: c.Hosts, Log: c.log, Restart: c.revival(), Say: func(err error) { c.say("%v\n", err) },
		Loopback: []int{c.at["temporal"], c.at["hostlink"], c.at["identity"], c.at["image"]},
	})
	return err
}

// libvirts are the cloud's; none with simulated hosts.
func (c *cloud) libvirts() (all []*libvirt.Libvirt) {
	switch {
	case c.Driver != DriverLibvirt:
	case c.several == nil:
		all = append(all, &libvirt.Libvirt{Dir: c.path("libvirt"), LogFile: c.log("libvirtd"), Restart: c.revival()})
	default:
		for _, h := range c.several.All {
			all = append(all, h.Libvirt)
		}
	}
	return all
}

// startLibvirt starts the hosts, each one's virtlogd and libvirtd, and has the
// guests go on that the last stop has ended.
func (c *cloud) startLibvirt(ctx context.Context) error {
	if c.several != nil {
		began := time.Now()
		c.stops = append(c.stops, c.several.Remove)
		if err := c.several.Start(ctx); err != nil {
			return err
		}
		c.done("namespaces", began)
	}
	for _, l := range c.libvirts() {
		if err := c.startDaemons(ctx, l); err != nil {
			return err
		}
	}
	c.libvirtRuns = true
	began, resumed := time.Now(), 0
	for _, l := range c.libvirts() {
		n, err := l.Resume(ctx)
		if err != nil {
			// The cloud is there for all the other guests.
			c.say("%v\n", err)
		}
		resumed += n
	}
	if resumed > 0 {
		c.say("%-12s %d go on, after %.1f s\n", "guests", resumed, time.Since(began).Seconds())
	}
	return ctx.Err()
}

// startDaemons starts virtlogd, which is kept running, and libvirtd, and waits
// until that knows QEMU.
func (c *cloud) startDaemons(ctx context.Context, l *libvirt.Libvirt) error {
	c.stops = append(c.stops, l.StopVirtlogd)
	if err := l.Prepare(ctx); err != nil {
		return err
	}
	if err := c.run(ctx, l.Process()); err != nil {
		return err
	}
	keeping, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		l.Keep(keeping, func(err error) { c.say("%v\n", err) })
	}()
	c.stops = append(c.stops, func() error { stop(); <-kept; return nil })
	return l.Learn(ctx)
}

// park ends the guests, each with its memory saved. Nothing of Holdfast runs
// any more, so that nobody sees them off.
func (c *cloud) park() (err error) {
	began, parked := time.Now(), 0
	if c.libvirtRuns {
		for _, l := range c.libvirts() {
			n, failed := l.Park(context.Background())
			parked, err = parked+n, errors.Join(err, failed)
		}
	}
	if parked > 0 {
		c.say("%-12s %d saved, after %.1f s\n", "guests", parked, time.Since(began).Seconds())
	}
	if c.several != nil {
		err = errors.Join(err, c.several.Stop())
	}
	return err
}
