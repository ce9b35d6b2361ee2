package node

// The histories that later releases must be able to replay. Record them anew with
//
//	go run ./dev/testservices -- go test ./workflows/node -run OnTemporal -record

import (
	"context"
	"flag"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workflows/workflowtest"
)

var record = flag.Bool("record", false, "write the histories of TestOnTemporal to testdata/histories")

const histories = "testdata/histories"

func TestMain(m *testing.M) {
	flag.Parse()
	testenv.Main(m)
}

const (
	isCompleted = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	isFailed    = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	isCanceled  = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
)

// told is a story that is told on a real server, cancelled once at a number of
// calls, if that is more than 0: in the row, and by Temporal too if the call is no
// local one, which would be made again with the rest of its workflow task.
type told struct {
	world  func() *world
	cancel int
	status enums.WorkflowExecutionStatus
	ends   string
}

var onTemporal = map[string]told{
	"power-done":      {powering(provision.PowerReboot, slow), 0, isCompleted, "done, power on"},
	"power-failed":    {powering(provision.PowerOn, broken), 0, isFailed, "failed, power off: Failed to change power state to 'power on' by 'power on': it can't work"},
	"power-cancelled": {powering(provision.PowerOn), 1, isCanceled, "cancelled: the operation was cancelled"},
	"power-late":      {powering(provision.PowerOn, slow), 3, isCompleted, "done, power on"},
	"recover-power":   {powering(provision.PowerOn, lostAt(operations.StepPower)), 0, isCompleted, "done, power on"},
	"recover-undone": {powering(provision.PowerOn, lostAt("")), 0, isCompleted,
		"done: The power was interrupted by an operator or a fault of the control plane and has been undone."},
	"recover-failed": {powering(provision.PowerOn, broken, lostAt(operations.StepPower)), 0, isFailed,
		"failed, power off: Failed to change power state to 'power on' by 'power on': it can't work"},
}

// served are the steps of several worlds, each world's by its operation.
func served(worlds map[string]*world) map[string]any {
	all := map[string]any{}
	for name, method := range (&world{}).steps() {
		all[name] = reflect.MakeFunc(reflect.TypeOf(method), func(args []reflect.Value) []reflect.Value {
			in := args[1]
			if fence := in.FieldByName("Fence"); fence.IsValid() {
				in = fence
			}
			w := worlds[in.FieldByName("OperationID").String()]
			return reflect.ValueOf(w.steps()[name]).Call(args)
		}).Interface()
	}
	delete(all, "records.Host")
	return all
}

func TestOnTemporal(t *testing.T) {
	t.Parallel()
	address, namespace := testenv.Temporal(t)
	logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Identity: "workflowtest", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	worlds := map[string]*world{}
	for name, story := range onTemporal {
		worlds[strings.Replace(operation, "it", name, 1)] = story.world()
	}
	for _, queue := range []string{steps.ControlQueue, steps.ConductorQueue("g")} {
		serving := worker.New(c, queue, worker.Options{Identity: "workflowtest", WorkerStopTimeout: 5 * time.Second})
		for kind, f := range Workflows {
			serving.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: string(kind)})
		}
		for step, method := range served(worlds) {
			serving.RegisterActivityWithOptions(method, activity.RegisterOptions{Name: step})
		}
		if err := serving.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(serving.Stop)
	}
	for name, story := range onTemporal {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.Replace(operation, "it", name, 1)
			w := worlds[id]
			w.since = time.Now()
			if story.cancel > 0 {
				w.incident = incident{at: story.cancel, do: func(w *world) error {
					w.cancelled = true
					if story.cancel == 1 {
						return nil
					}
					return c.CancelWorkflow(context.Background(), id, "")
				}}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: steps.ControlQueue}, string(w.kind), steps.Ref{OperationID: id})
			if err != nil {
				t.Fatal(err)
			}
			ended := run.Get(ctx, nil)
			described, err := c.DescribeWorkflowExecution(ctx, id, "")
			if err != nil {
				t.Fatal(err)
			}
			if status := described.GetWorkflowExecutionInfo().GetStatus(); status != story.status || w.end() != story.ends {
				t.Fatalf("Temporal shows %s (%v), and it ended as %q", status, ended, w.end())
			}
			if *record {
				workflowtest.SaveHistory(t, c, id, filepath.Join(histories, name+".json"))
			}
		})
	}
}

func TestReplay(t *testing.T) { workflowtest.Replay(t, Workflows, histories) }

// The histories that are replayed show every kind done, failed and cancelled,
// where it can be.
func TestHistoriesAreComplete(t *testing.T) {
	t.Parallel()
	recorded := workflowtest.Recorded(t, histories)
	for kind := range Workflows {
		spec, _ := operations.Lookup(kind)
		for status, wanted := range map[enums.WorkflowExecutionStatus]bool{isCompleted: true, isFailed: true, isCanceled: !spec.Forward()} {
			if recorded[kind][status] != wanted {
				t.Errorf("a history of a %s that Temporal shows as %s: %t, want %t", kind, status, !wanted, wanted)
			}
		}
	}
}
