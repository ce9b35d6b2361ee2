package stack

// What only a real Temporal server shows, and the histories that later releases
// must be able to replay. Record them anew with
//
//	go run ./dev/testservices -- go test ./workflows/stack -run OnTemporal -record

import (
	"context"
	"flag"
	"fmt"
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
// calls, if that is more than 0.
type told struct {
	world  func() *world
	cancel int
	status enums.WorkflowExecutionStatus
	ends   string
}

// quick has what waits wait no time.
func quick(w *world) { w.pause = time.Millisecond }

// slow has one wait for ever; late has no time for that.
func slow(w *world) { w.nodes[2].waits = 1000 }

func late(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }

var onTemporal = map[string]told{
	"create-done":           {diamond(quick), 0, isCompleted, "done CREATE_COMPLETE"},
	"create-failed":         {diamond(quick, failing(1)), 0, isFailed, "failed CREATE_FAILED"},
	"create-rolled-back":    {diamond(quick, failing(3), rolledBack), 0, isFailed, "failed ROLLBACK_COMPLETE"},
	"create-cancelled":      {diamond(func(w *world) { w.nodes[2].waits = 1000 }), 8, isCanceled, "cancelled CREATE_FAILED"},
	"create-timed-out":      {diamond(func(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }), 0, isFailed, "failed CREATE_FAILED"},
	"update-done":           {diamond(quick, of(operations.StackUpdate)), 0, isCompleted, "done UPDATE_COMPLETE"},
	"update-rolled-back":    {diamond(quick, of(operations.StackUpdate), failing(3), rolledBack), 0, isFailed, "failed ROLLBACK_COMPLETE"},
	"update-cancelled":      {diamond(of(operations.StackUpdate), func(w *world) { w.nodes[2].waits = 1000 }), 8, isCanceled, "cancelled UPDATE_FAILED"},
	"delete-done":           {diamond(quick, of(operations.StackDelete), made), 0, isCompleted, "done DELETE_COMPLETE"},
	"delete-failed":         {diamond(of(operations.StackDelete), made, func(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }), 0, isFailed, "failed DELETE_FAILED"},
	"rollback-done":         {diamond(quick, of(operations.StackRollback), made), 0, isCompleted, "done ROLLBACK_COMPLETE"},
	"rollback-failed":       {diamond(of(operations.StackRollback), made, late), 0, isFailed, "failed ROLLBACK_FAILED"},
	"rollback-cancelled":    {diamond(of(operations.StackRollback), made, slow), 8, isCanceled, "cancelled ROLLBACK_FAILED"},
	"check-done":            {diamond(quick, of(operations.StackCheck), made), 0, isCompleted, "done CHECK_COMPLETE"},
	"check-failed":          {diamond(quick, of(operations.StackCheck), made, failing(0), failing(1)), 0, isFailed, "failed CHECK_FAILED"},
	"check-cancelled":       {diamond(of(operations.StackCheck), made, slow), 8, isCanceled, "cancelled CHECK_FAILED"},
	"suspend-done":          {diamond(quick, of(operations.StackSuspend), made), 0, isCompleted, "done SUSPEND_COMPLETE"},
	"suspend-failed":        {diamond(quick, of(operations.StackSuspend), made, failing(1)), 0, isFailed, "failed SUSPEND_FAILED"},
	"suspend-cancelled":     {diamond(of(operations.StackSuspend), made, slow), 8, isCanceled, "cancelled SUSPEND_FAILED"},
	"resume-done":           {diamond(quick, of(operations.StackResume), made), 0, isCompleted, "done RESUME_COMPLETE"},
	"resume-failed":         {diamond(quick, of(operations.StackResume), made, failing(1)), 0, isFailed, "failed RESUME_FAILED"},
	"resume-cancelled":      {diamond(of(operations.StackResume), made, slow), 8, isCanceled, "cancelled RESUME_FAILED"},
	"recover-create":        {diamond(recovering(operations.StackCreate)), 0, isCompleted, "done CREATE_FAILED"},
	"recover-delete":        {diamond(quick, recovering(operations.StackDelete), made), 0, isCompleted, "done DELETE_COMPLETE"},
	"recover-delete-failed": {diamond(recovering(operations.StackDelete), made, func(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }), 0, isFailed, "failed DELETE_FAILED"},
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
	serving := worker.New(c, steps.ControlQueue, worker.Options{Identity: "workflowtest", WorkerStopTimeout: 5 * time.Second})
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
	for name, story := range onTemporal {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.Replace(operation, "it", name, 1)
			w := worlds[id]
			w.since = time.Now()
			if story.cancel > 0 {
				w.incident = incident{at: story.cancel, do: func(w *world) error {
					w.cancelled = true
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
				t.Errorf("%s", fmt.Sprintf("a history of a %s that Temporal shows as %s: %t, want %t", kind, status, !wanted, wanted))
			}
		}
	}
}
