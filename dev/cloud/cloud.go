package cloud

// The story of a cloud: what starts after what, and how it ends.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/dev/hosts"
	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/postgres"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/store"
)

// cloud is one that is being run.
type cloud struct {
	Options
	began    time.Time
	at       addresses
	holdfast supervise.Group // our own processes
	beside   supervise.Group // what they stand on
	postgres *postgres.Server
	stops    []func() error // what no group knows, last first

	machineFolder string       // for what can't be kept in Dir
	several       *hosts.Hosts // with a libvirt each; nil with one host, or simulated ones
	libvirtRuns   bool
}

// stage is one step of a start.
type stage struct {
	name string
	run  func(context.Context) error
}

// revival is how a child that has died comes back.
func (c *cloud) revival() *supervise.Restart {
	return &supervise.Restart{Delay: time.Second, MaxDelay: 30 * time.Second, Told: func(p *supervise.Process, how string) {
		c.say("%-12s %s, and is started again; its log is %s\n", p.Name, how, p.LogFile)
	}}
}

// stopTime is how long one child may take to end: a worker lets its steps end
// for 20 s.
const stopTime = 30 * time.Second

// Run runs the cloud until ctx ends. ready is called when all is up. A cloud
// that can't be started is stopped again, and the error says why.
func Run(ctx context.Context, o Options, ready func(Description) error) (err error) {
	c := &cloud{Options: o, machineFolder: machineFolder}
	release, err := c.open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := c.nameHosts(); err != nil {
		return err
	}
	c.holdfast.Progress, c.beside.Progress = c.Progress, c.Progress
	defer func() { err = errors.Join(err, c.stop()) }()

	c.began = time.Now()
	c.say("data in %s\n", c.Dir)
	if err := c.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // interrupted, which is no failure
		}
		return err
	}
	c.say("up after %.1f s\n", time.Since(c.began).Seconds())
	description, err := c.describe()
	if err != nil {
		return err
	}
	if err := ready(description); err != nil {
		return err
	}
	<-ctx.Done()
	c.say("stopping\n")
	return nil
}

// settleTime is how long children may take to end whose parent was killed.
const settleTime = 30 * time.Second

// begin takes the ports, and marks the folder as a running cloud's until ended
// is called. If the mark is there already, the last run was killed, and its
// children may be about to end.
func (c *cloud) begin(ctx context.Context) (ended func() error, err error) {
	if c.at, err = c.resolve(); err != nil {
		return nil, err
	}
	mark := c.path("running")
	deadline := time.Now()
	if _, err := os.Stat(mark); err == nil {
		deadline = deadline.Add(settleTime)
	}
	for {
		name, err := c.at.taken()
		if err == nil {
			break
		}
		if time.Now().Before(deadline) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		if _, asked := c.Options.Ports[name]; asked || !c.FreePorts {
			return nil, err
		}
		if c.at[name], err = freePort(c.at); err != nil {
			return nil, err
		}
	}
	if err := c.keepPorts(); err != nil {
		return nil, err
	}
	if err := statedir.Write(mark, nil); err != nil {
		return nil, fmt.Errorf("the cloud's folder: %w", err)
	}
	return func() error { return os.Remove(mark) }, nil
}

func (c *cloud) start(ctx context.Context) error {
	for _, s := range []stage{
		{"postgres", c.startPostgres},
		{"schema", c.migrate},
		{"temporal", c.startTemporal},
		{"companions", c.startCompanions},
		{"libvirt", c.startLibvirt},
		{"machines", c.startMachines},
		{"holdfast", c.startHoldfast},
		{"seed", c.seed},
		{"hosts", c.awaitHosts},
	} {
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// stop ends everything, last first.
func (c *cloud) stop() error {
	err := errors.Join(c.holdfast.Stop(stopTime), c.park(), c.beside.Stop(stopTime))
	for i := len(c.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, c.stops[i]())
	}
	return err
}

func (c *cloud) startPostgres(ctx context.Context) (err error) {
	began := time.Now()
	c.postgres, err = postgres.Start(ctx, postgres.Options{Dir: c.path("postgres"), Port: c.at["postgres"], Revive: c.revival()})
	if err != nil {
		return err
	}
	c.stops = append(c.stops, func() error {
		err := c.postgres.Stop()
		if err == nil {
			c.say("%-12s stopped\n", "postgres")
		}
		return err
	})
	if err := c.postgres.Prepare(ctx); err != nil {
		return err
	}
	c.done("postgres", began)
	return nil
}

func (c *cloud) migrate(ctx context.Context) error {
	dsn, err := c.dsn()
	if err != nil {
		return err
	}
	return store.Migrate(ctx, dsn)
}

func (c *cloud) startTemporal(ctx context.Context) error {
	p, err := launch.Temporal(launch.TemporalOptions{
		Admin: c.postgres.Admin, Port: c.at["temporal"], UIPort: c.at["temporal-ui"], LogFile: c.log("temporal"),
	})
	if err != nil {
		return err
	}
	return c.run(ctx, p)
}

// run starts what Holdfast stands on; it comes back when it dies.
func (c *cloud) run(ctx context.Context, p *supervise.Process) error {
	p.Restart = c.revival()
	return c.beside.Start(ctx, p)
}

func (c *cloud) dsn() (string, error) {
	return c.postgres.DSN(postgres.ProductDatabase, postgres.ProductRole)
}

func (c *cloud) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

func (c *cloud) log(name string) string { return c.path("logs", name+".log") }

// say is for a person to read; that it can't be written hurts nothing.
func (c *cloud) say(format string, args ...any) {
	if c.Progress != nil && c.Progress != io.Discard {
		_, _ = fmt.Fprintf(c.Progress, format, args...)
	}
}

func (c *cloud) done(what string, began time.Time) {
	c.say("%-12s ready after %.1f s\n", what, time.Since(began).Seconds())
}
