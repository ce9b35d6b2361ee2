package bench

// The ceiling: what the workflow engine itself can do on this machine, with a
// build's own shape and nothing in it.

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/integration/cloud"
)

// A build's steps: begin, schedule, claim, guest, spec and finish are local;
// making the guest is the one that is not.
const (
	localSteps = 6
	queue      = "bench"
)

func bareBuild(ctx workflow.Context) error {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	for range localSteps - 1 {
		if err := workflow.ExecuteLocalActivity(local, nothing).Get(ctx, nil); err != nil {
			return err
		}
	}
	remote := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second})
	if err := workflow.ExecuteActivity(remote, nothing).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteLocalActivity(local, nothing).Get(ctx, nil)
}

func nothing(context.Context) error { return nil }

// bareEngine is bare builds a second over as many as are built for real.
func bareEngine(b *testing.B, c *cloud.Cloud) float64 {
	b.Helper()
	w := worker.New(c.Temporal, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(bareBuild, workflow.RegisterOptions{Name: "bare"})
	w.RegisterActivityWithOptions(nothing, activity.RegisterOptions{Name: "nothing"})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer w.Stop()

	began := time.Now()
	var wg sync.WaitGroup
	for i := range builds {
		wg.Go(func() {
			run, err := c.Temporal.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("bare-%d", i), TaskQueue: queue}, "bare")
			if err == nil {
				err = run.Get(b.Context(), nil)
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	return builds / time.Since(began).Seconds()
}
