package maintenance_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workflows/maintenance"
)

var record = flag.Bool("record", false, "write the histories of TestOnTemporal to testdata/histories")

const histories = "testdata/histories"

func TestMain(m *testing.M) { testenv.Main(m) }

// partial are the steps that runs repeat.
var partial = []string{"maintenance.SyncPower", "maintenance.Purge", "maintenance.Reclaim", "maintenance.OffloadShelved",
	"maintenance.ConfirmResized", "neutron.Refresh"}

// parts answers with More as often as it is told.
func parts(n int) func(context.Context, struct{}) (steps.MaintenanceOut, error) {
	return func(context.Context, struct{}) (steps.MaintenanceOut, error) {
		n--
		return steps.MaintenanceOut{Changed: 1, More: n > 0}, nil
	}
}

// rounds are the workflows of nodes' power, whose parts are known from the start.
var rounds = []string{maintenance.NodePowerName, maintenance.NodeRecoveryName}

// A run goes on while there is more, and ends at its bound.
func TestRunsAreBounded(t *testing.T) {
	t.Parallel()
	for name, w := range maintenance.Workflows {
		if slices.Contains(rounds, name) {
			continue
		}
		for more, want := range map[int]int{1: 1, 3: 3, 1000: 200} {
			env, taken := testenv.Workflow(), 0
			answer := parts(more)
			f := func(ctx context.Context, in struct{}) (steps.MaintenanceOut, error) { taken++; return answer(ctx, in) }
			for _, step := range partial {
				env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: step})
			}
			env.ExecuteWorkflow(w)
			if err := env.GetWorkflowError(); err != nil || taken != want {
				t.Errorf("%s with %d parts to do has taken %d, want %d: %v", name, more, taken, want, err)
			}
		}
	}
}

// pages answers with three parts of two groups.
func pages(_ context.Context, in steps.NodePagesIn) (steps.NodePagesOut, error) {
	return steps.NodePagesOut{Pages: []steps.NodePage{{Group: ""}, {Group: "g"}, {Group: "", After: "n"}}}, nil
}

// A round does each part once, on the queue of its group, also when one of them fails.
func TestRounds(t *testing.T) {
	t.Parallel()
	for _, name := range rounds {
		env := testenv.Workflow()
		var mu sync.Mutex
		did := map[steps.NodePage]string{}
		env.RegisterActivityWithOptions(pages, activity.RegisterOptions{Name: "maintenance.NodePages"})
		env.RegisterActivityWithOptions(func(ctx context.Context, in steps.SyncNodesIn) (out steps.SyncNodesOut, err error) {
			mu.Lock()
			defer mu.Unlock()
			did[in.NodePage] = activity.GetInfo(ctx).TaskQueue
			if in.Recovers != (name == maintenance.NodeRecoveryName) || in.Round == "" {
				t.Errorf("%s: %+v", name, in)
			}
			if in.Group == "g" {
				err = temporal.NewNonRetryableApplicationError("no", "Invalid", nil)
			}
			return out, err
		}, activity.RegisterOptions{Name: "bmc.SyncPower"})
		env.ExecuteWorkflow(maintenance.Workflows[name])
		want := map[steps.NodePage]string{{Group: ""}: "conductor/", {Group: "g"}: "conductor/g", {Group: "", After: "n"}: "conductor/"}
		if err := env.GetWorkflowError(); err == nil || !maps.Equal(did, want) {
			t.Errorf("%s has done %v: %v", name, did, err)
		}
	}
}

// On a real server each ends well; what it did is replayed by later releases.
func TestOnTemporal(t *testing.T) {
	t.Parallel()
	address, namespace := testenv.Temporal(t)
	c, err := engine.Dial(engine.TemporalOptions{Address: address, Namespace: namespace, Identity: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := worker.New(c, steps.ControlQueue, worker.Options{})
	for name, f := range maintenance.Workflows {
		w.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: name})
	}
	for _, step := range partial {
		w.RegisterActivityWithOptions(parts(3), activity.RegisterOptions{Name: step})
	}
	conductor := worker.New(c, steps.ConductorQueue(""), worker.Options{DisableWorkflowWorker: true})
	w.RegisterActivityWithOptions(func(context.Context, steps.NodePagesIn) (steps.NodePagesOut, error) {
		return steps.NodePagesOut{Pages: []steps.NodePage{{}, {After: "n"}}}, nil
	}, activity.RegisterOptions{Name: "maintenance.NodePages"})
	conductor.RegisterActivityWithOptions(func(context.Context, steps.SyncNodesIn) (out steps.SyncNodesOut, err error) { return out, nil },
		activity.RegisterOptions{Name: "bmc.SyncPower"})
	if err := conductor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conductor.Stop)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	for name := range maintenance.Workflows {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: name, TaskQueue: steps.ControlQueue}, name)
		if err == nil {
			err = run.Get(ctx, nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h := &history.History{}
		for events := c.GetWorkflowHistory(ctx, name, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			e, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			if q := e.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue(); q.GetKind() == enums.TASK_QUEUE_KIND_STICKY {
				q.Name = "sticky"
			}
			h.Events = append(h.Events, e)
		}
		if *record {
			text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
			err = errors.Join(err, os.MkdirAll(histories, 0o755))
			if err = errors.Join(err, os.WriteFile(filepath.Join(histories, name+".json"), append(text, '\n'), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	for name, f := range maintenance.Workflows {
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: name})
		logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(logger, filepath.Join(histories, name+".json")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
