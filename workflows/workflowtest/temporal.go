package workflowtest

// The same world behind a real Temporal server: for what the SDK's environment
// doesn't do as the server does, and to record histories.

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Run is a story that is being told on a real server.
type Run struct {
	World  *World
	Client client.Client

	namespace string
	id        string
}

// Start serves the world's queues (those of silent hosts excepted) and starts
// the workflow under its operation's id.
func Start(t *testing.T, address, namespace string, story func(workflow.Context, steps.Ref) error, w *World) *Run {
	t.Helper()
	logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Identity: "workflowtest", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	serve := func(queue string, fill func(worker.Worker)) {
		served := worker.New(c, queue, worker.Options{Identity: "workflowtest", WorkerStopTimeout: 5 * time.Second})
		fill(served)
		if err := served.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(served.Stop)
	}
	serve(steps.ControlQueue, func(control worker.Worker) {
		control.RegisterWorkflowWithOptions(story, workflow.RegisterOptions{Name: string(w.Op.Kind)})
		w.control(control)
	})
	for name, h := range w.Hosts {
		if h.Answers {
			serve(steps.HostQueue(name), func(host worker.Worker) { w.host(host, name) })
		}
	}
	spec, _ := operations.Lookup(w.Op.Kind)
	w.Op.Deadline = time.Now().Add(spec.Deadline)
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: w.Op.ID, TaskQueue: steps.ControlQueue},
		string(w.Op.Kind), steps.Ref{OperationID: w.Op.ID})
	if err != nil {
		t.Fatal(err)
	}
	return &Run{World: w, Client: c, namespace: namespace, id: w.Op.ID}
}

// Reached waits until a call of the step has come in.
func (r *Run) Reached(t *testing.T, step string) {
	t.Helper()
	for t.Context().Err() == nil {
		r.World.mu.Lock()
		for _, c := range r.World.calls {
			if c.Step == step {
				r.World.mu.Unlock()
				return
			}
		}
		r.World.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s was not reached", step)
}

// Cancel asks Temporal to cancel the workflow.
func (r *Run) Cancel(t *testing.T) {
	t.Helper()
	if err := r.Client.CancelWorkflow(t.Context(), r.id, ""); err != nil {
		t.Fatal(err)
	}
}

// Knock tells the workflow to read its inbox.
func (r *Run) Knock(t *testing.T) {
	t.Helper()
	if err := r.Client.SignalWorkflow(t.Context(), r.id, "", steps.Knock, nil); err != nil {
		t.Fatal(err)
	}
}

// Reset does by hand what an operator may do in the Temporal UI: reset the
// workflow to its first task.
func (r *Run) Reset(t *testing.T) {
	t.Helper()
	const firstTaskCompleted = 4
	described, err := r.Client.DescribeWorkflow(t.Context(), r.id, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Client.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: r.namespace, WorkflowExecution: described.RawResponse.GetWorkflowExecutionInfo().GetExecution(),
		Reason: "by hand", RequestId: "reset", WorkflowTaskFinishEventId: firstTaskCompleted,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// End waits for the workflow to close and gives the status that Temporal shows.
func (r *Run) End(t *testing.T) enums.WorkflowExecutionStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := r.Client.GetWorkflow(ctx, r.id, "").Get(ctx, nil)
	described, describeErr := r.Client.DescribeWorkflow(t.Context(), r.id, "")
	if describeErr != nil {
		t.Fatalf("%v; the workflow ended with %v", describeErr, err)
	}
	return described.Status
}

// Check holds the world against the rules (check.go) once the workflow has closed.
func (r *Run) Check(t *testing.T) {
	t.Helper()
	r.World.mu.Lock()
	defer r.World.mu.Unlock()
	r.World.check(t)
}

// Save writes the history to a file, without what names this machine.
func (r *Run) Save(t *testing.T, file string) {
	t.Helper()
	SaveHistory(t, r.Client, r.id, file)
}

// SaveHistory writes the history of a workflow's last run to a file, without what
// names this machine.
func SaveHistory(t *testing.T, c client.Client, id, file string) {
	t.Helper()
	h := &history.History{}
	for events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if q := e.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue(); q.GetKind() == enums.TASK_QUEUE_KIND_STICKY {
			q.Name = "sticky"
		}
		h.Events = append(h.Events, e)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// closings are the events that close a workflow, as the status that they lead to.
var closings = map[enums.EventType]enums.WorkflowExecutionStatus{
	enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:    enums.WORKFLOW_EXECUTION_STATUS_FAILED,
	enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:  enums.WORKFLOW_EXECUTION_STATUS_CANCELED,
}

// recordedEnds says how the operations of each kind ended in a folder's histories.
func recordedEnds(t *testing.T, folder string) map[operations.Kind]map[enums.WorkflowExecutionStatus]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[operations.Kind]map[enums.WorkflowExecutionStatus]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var h history.History
		if err := (temporalproto.CustomJSONUnmarshalOptions{}).Unmarshal(text, &h); err != nil || len(h.Events) == 0 {
			t.Fatalf("%s is no history: %v", file, err)
		}
		kind := operations.Kind(h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName())
		if ends[kind] == nil {
			ends[kind] = map[enums.WorkflowExecutionStatus]bool{}
		}
		ends[kind][closings[h.Events[len(h.Events)-1].GetEventType()]] = true
	}
	return ends
}

// Complete holds a folder's histories against the kinds of operation on a resource:
// each is done, failed and cancelled in one, where it can be. NeverFails are kinds that
// are never failed, and why.
func Complete(t *testing.T, resource operations.ResourceType, folder string, neverFails map[operations.Kind]string) {
	recorded := recordedEnds(t, folder)
	for _, spec := range operations.All() {
		if spec.Resource != resource {
			continue
		}
		for status, wanted := range map[enums.WorkflowExecutionStatus]bool{
			enums.WORKFLOW_EXECUTION_STATUS_COMPLETED: true,
			enums.WORKFLOW_EXECUTION_STATUS_FAILED:    neverFails[spec.Kind] == "",
			enums.WORKFLOW_EXECUTION_STATUS_CANCELED:  !spec.Forward(),
		} {
			switch is := recorded[spec.Kind][status]; {
			case wanted && !is:
				t.Errorf("no history of a %s that Temporal shows as %s: give TestOnTemporal a story that ends so, and run\n"+
					"\tgo run ./dev/testservices -- go test ./workflows/%s -run OnTemporal -record", spec.Kind, status, resource)
			case is && !wanted:
				t.Errorf("there is a history of a %s that Temporal shows as %s, which can't be", spec.Kind, status)
			}
		}
	}
}

// Replay runs the workflows over every history in a folder and fails if one of
// them would take another turn than it did.
func Replay(t *testing.T, workflows Workflows, folder string) {
	files, err := os.ReadDir(folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			for kind, w := range workflows {
				replayer.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: string(kind)})
			}
			logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(logger, folder+"/"+f.Name()); err != nil {
				t.Error(err)
			}
		})
	}
}
