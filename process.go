package main

// What the server roles share: log, metrics, health, database, engine.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"

	"holdfast.dev/internal/config"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/internal/telemetry"
)

// process is one running role. The database, the engine and the starter are
// nil in a host's worker, which has no database.
type process struct {
	cfg      *config.Config
	log      *slog.Logger
	registry *prometheus.Registry
	temporal client.Client
	db       *store.DB
	engine   *engine.Engine
	starter  *engine.Starter
	closers  []func() error
	// known is Keystone, once it has been asked for.
	known *identity.Keystone
}

// newProcess starts what every role has. The caller closes it.
func newProcess(ctx context.Context, cfg *config.Config, role string) (*process, error) {
	collectEarly()
	p := &process{cfg: cfg, registry: telemetry.NewRegistry()}
	p.log = telemetry.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format).With("role", role)
	slog.SetDefault(p.log)
	stopTracing, err := telemetry.StartTracing(ctx, cfg.Telemetry.OTLPEndpoint, role)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, func() error {
		last, cancel := context.WithTimeout(context.Background(), cfg.API.ShutdownPatience)
		defer cancel()
		return stopTracing(last)
	})
	p.temporal, err = engine.Dial(engine.TemporalOptions{Address: cfg.Temporal.Address, Namespace: cfg.Temporal.Namespace, Log: p.log, Trace: cfg.Telemetry.OTLPEndpoint != ""})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.closers = append(p.closers, func() error { p.temporal.Close(); return nil })
	return p, nil
}

// collectEarly halves what the heap may grow by between two collections. A
// control plane's processes stand beside guests, which need the memory more
// than these need the few per cent of CPU. GOGC in the environment has precedence.
func collectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// newControlProcess is newProcess with database and engine.
func newControlProcess(ctx context.Context, cfg *config.Config, role string) (*process, error) {
	if err := cfg.NeedDatabase(); err != nil {
		return nil, err
	}
	p, err := newProcess(ctx, cfg, role)
	if err != nil {
		return nil, err
	}
	p.db, err = store.Open(ctx, cfg.Database.DSN, cfg.Database.MaxConnections)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.closers = append(p.closers, func() error { p.db.Close(); return nil })
	p.engine = engine.New(p.db, compute.Resource(), orchestration.Locks(), orchestration.SnapshotLocks(), baremetal.Locks())
	p.starter = p.engine.NewStarter(p.temporal, steps.ControlQueue, cfg.API.StarterQueue, cfg.API.StarterWorkers)
	return p, nil
}

// runStarter runs the starter until ctx ends or stop is called, which waits for
// its end. What it has not started by then is the dispatcher's.
func (p *process) runStarter(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.starter.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// close gives back what was opened, last first.
func (p *process) close() error {
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i]())
	}
	return errors.Join(errs...)
}

// telemetry serves /metrics and /healthcheck at an address.
func (p *process) telemetry(address string, health *telemetry.Health) listener {
	return listener{name: "telemetry", address: address, longest: 30 * time.Second, handler: telemetry.Handler(p.registry, health)}
}

// Probes of /healthcheck. Without Temporal an API still accepts, so that is
// reported and not vital; the same goes for hosts.

func (p *process) databaseProbe() telemetry.Probe {
	return telemetry.Probe{Name: "database", Vital: true, Run: p.db.Pool.Ping}
}

func (p *process) temporalProbe() telemetry.Probe {
	return telemetry.Probe{Name: "temporal", Run: func(ctx context.Context) error {
		_, err := p.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}}
}

func (p *process) hostsProbe() telemetry.Probe {
	return telemetry.Probe{Name: "hosts", Run: func(ctx context.Context) error {
		hosts, err := compute.ListHosts(ctx, p.db.Pool, compute.HostFilter{})
		if err != nil {
			return err
		}
		down := 0
		for _, h := range hosts {
			if !h.Up(p.cfg.Compute.HostDownAfter) {
				down++
			}
		}
		if down > 0 {
			return telemetry.Noticef("%d of %d hosts are down", down, len(hosts))
		}
		return nil
	}}
}

// loopsProbes say how the engine's loops are, in the process that runs them.
func loopsProbes(loops *engine.Loops) []telemetry.Probe {
	return []telemetry.Probe{
		{Name: "dispatcher", Run: func(context.Context) error {
			return troubleOf(loops.Health().Dispatcher)
		}},
		{Name: "sweeper", Run: func(context.Context) error {
			h := loops.Health()
			if h.Alarm {
				return telemetry.Notice("many workflows were lost within minutes; they are being started again")
			}
			return troubleOf(h.Sweeper)
		}},
	}
}

func troubleOf(b engine.Beat) error {
	if b.Trouble == "" {
		return nil
	}
	return fmt.Errorf("the last round failed: %s", b.Trouble)
}
