package workers

// The conductor worker: what is done to nodes' BMCs.

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// ConductorConfig is what a conductor worker is made of.
type ConductorConfig struct {
	Client client.Client
	DB     *store.DB
	// Conductor is who it is, and Heartbeat the time between two signs of life.
	Conductor baremetal.Conductor
	Heartbeat time.Duration
	BMC       steps.BMCActivities
	Agent     steps.AgentActivities
	Boot      steps.BootActivities
	Network   steps.NetworkActivities
	// Steps counts steps; nil doesn't.
	Steps *StepMetrics
	// Hold is as in ControlConfig.
	Hold func(ctx context.Context, resource, point string) error
	Log  *slog.Logger
}

// conductorSlots is how many steps a conductor takes at once. Most of the time they
// wait for machines, and each BMC has a limit of its own.
const conductorSlots = 400

// RunConductor serves the queue of the conductor's group until ctx ends (nil) or
// something of it fails for good. It says that it is alive also while Temporal is
// down, so that requests are accepted.
func RunConductor(ctx context.Context, cfg ConductorConfig) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		every(ctx, cfg.Heartbeat, func() {
			round, cancel := context.WithTimeout(ctx, cfg.Heartbeat)
			defer cancel()
			if err := baremetal.BeatConductor(round, cfg.DB.Pool, cfg.Conductor); err != nil && ctx.Err() == nil {
				cfg.Log.WarnContext(ctx, "a heartbeat is missed", "error", redact.Text(err.Error()))
			}
		})
		return nil
	})
	group.Go(func() error {
		return serve(ctx, ConductorRole, cfg.Log, func(fatal chan<- error) (worker.Worker, error) { return newConductor(cfg, fatal) })
	})
	return group.Wait()
}

func newConductor(cfg ConductorConfig, fatal chan<- error) (worker.Worker, error) {
	o := options(cfg.Log, cfg.Steps)
	o.DisableWorkflowWorker = true
	o.Interceptors = append(o.Interceptors, calls(cfg.Hold)...)
	o.MaxConcurrentActivityExecutionSize = conductorSlots
	o.MaxHeartbeatThrottleInterval = hostCancel
	o.Identity = cfg.Conductor.Hostname
	o.OnFatalError = func(err error) { fatal <- err }
	w := worker.New(cfg.Client, steps.ConductorQueue(cfg.Conductor.Group), o)
	return w, register(w, ConductorRole, map[string]any{"bmc": cfg.BMC, "agent": cfg.Agent, "boot": cfg.Boot, "network": cfg.Network})
}
