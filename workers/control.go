package workers

// The control worker: workflows, what they do to Holdfast's own database, and
// the engine's loops.

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/maintenance"
	"holdfast.dev/workflows/node"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/stack"
)

// ControlConfig is what a control worker is made of.
type ControlConfig struct {
	Client    client.Client
	Records   steps.RecordsActivities
	Placement steps.PlacementActivities
	Neutron   steps.NeutronActivities
	Cinder    steps.CinderActivities
	Glance    steps.GlanceActivities
	Resources steps.ResourcesActivities
	// Maintenance is what schedules ask for.
	Maintenance steps.MaintenanceActivities
	// Beside are run until ctx ends, also while Temporal is down: the engine's
	// loops, a starter.
	Beside []func(context.Context)
	// Steps counts steps; nil doesn't.
	Steps *StepMetrics
	// Hold is called before each step as "<verb of the operation>:<step>", and
	// after it with ".done" at the end; it may keep it waiting. Nil holds
	// nothing. For tests.
	Hold func(ctx context.Context, resource, point string) error
	Log  *slog.Logger
}

// workflowPollers is how many workflow tasks the control worker asks for at a time. With
// the SDK's two, of which one is kept for workflows that are cached, 200 that are started
// together wait for each other longer than they run.
const workflowPollers = 16

// Control serves the control queue until ctx ends (nil) or something of it
// fails for good.
func Control(ctx context.Context, cfg ControlConfig) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range cfg.Beside {
		group.Go(func() error {
			run(ctx)
			return nil
		})
	}
	group.Go(func() error {
		return serve(ctx, ControlRole, cfg.Log, func(fatal chan<- error) (worker.Worker, error) { return newControl(cfg, fatal) })
	})
	return group.Wait()
}

func newControl(cfg ControlConfig, fatal chan<- error) (worker.Worker, error) {
	o := options(cfg.Log, cfg.Steps)
	o.Interceptors = append(o.Interceptors, calls(cfg.Hold)...)
	o.MaxConcurrentWorkflowTaskPollers = workflowPollers
	o.OnFatalError = func(err error) { fatal <- err }
	w := worker.New(cfg.Client, steps.ControlQueue, o)
	for _, workflows := range []map[operations.Kind]func(workflow.Context, steps.Ref) error{server.Workflows, stack.Workflows, node.Workflows} {
		for kind, f := range workflows {
			w.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: string(kind)})
		}
	}
	for name, f := range maintenance.Workflows {
		w.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: name})
	}
	return w, register(w, ControlRole, map[string]any{
		"records": cfg.Records, "placement": cfg.Placement, "neutron": cfg.Neutron, "cinder": cfg.Cinder, "glance": cfg.Glance,
		"resources": cfg.Resources, "maintenance": cfg.Maintenance,
	})
}
