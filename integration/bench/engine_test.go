package bench

// The ceiling: what the workflow engine itself can do on this machine, with a
// build's own shape and nothing in it.

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/integration/cloud"
)

// A build's steps: begin, claim, guest, spec and finish are local;
// making the guest is the one that is not, and has a queue of its own as a
// host has.
const (
	localSteps = 5
	queue      = "bench"
	hostQueue  = "bench-host"
)

func bareBuild(ctx workflow.Context) error {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	for range localSteps - 1 {
		if err := workflow.ExecuteLocalActivity(local, "nothing").Get(ctx, nil); err != nil {
			return err
		}
	}
	remote := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: hostQueue, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second})
	if err := workflow.ExecuteActivity(remote, "nothing").Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteLocalActivity(local, "finish").Get(ctx, nil)
}

// bareEngine is bare builds a second over as many as are built for real, started
// by as many clients. As there, nobody waits for one at the engine: the last
// step counts.
func bareEngine(b *testing.B, c *cloud.Cloud) float64 {
	b.Helper()
	var finished atomic.Int64
	all := make(chan struct{})
	for _, q := range []string{queue, hostQueue} {
		w := worker.New(c.Temporal, q, worker.Options{})
		w.RegisterWorkflowWithOptions(bareBuild, workflow.RegisterOptions{Name: "bare"})
		w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "nothing"})
		w.RegisterActivityWithOptions(func(context.Context) error {
			if finished.Add(1) == builds {
				close(all)
			}
			return nil
		}, activity.RegisterOptions{Name: "finish"})
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}
		defer w.Stop()
	}

	began := time.Now()
	byClients(builds, func(i int) {
		if _, err := c.Temporal.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("bare-%d", i), TaskQueue: queue}, "bare"); err != nil {
			b.Error(err)
		}
	})
	select {
	case <-all:
	case <-time.After(settleWithin):
		b.Fatalf("%d bare builds of %d have finished", finished.Load(), builds)
	}
	return builds / time.Since(began).Seconds()
}
