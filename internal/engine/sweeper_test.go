package engine_test

import (
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

func TestSweepOfTheLiving(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	_, op := c.carried(operations.ServerStart)
	c.sweep()
	if got := c.operation(op); got.State() != engine.Running || time.Since(got.CheckedAt) > 30*time.Second {
		t.Errorf("the operation is %+v", got)
	}
	// Seen just now, it is left alone.
	before := c.operation(op).CheckedAt
	if err := c.loops.Sweeper().Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.operation(op).CheckedAt; !got.Equal(before) {
		t.Errorf("checked at %s and again at %s", before, got)
	}
}

func TestSweepOfThePaused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	_, op := c.carried(operations.ServerStart)
	service := c.client.WorkflowService()
	if _, err := service.PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: c.namespace, WorkflowId: op, Reason: "by hand", RequestId: uuid.NewString()}); err != nil {
		t.Fatal(err)
	}
	c.sweep()
	if got := c.operation(op); got.State() != engine.Held || got.Hold != "paused" {
		t.Errorf("the operation is %+v", got)
	}
	if _, err := service.UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: c.namespace, WorkflowId: op, Reason: "by hand", RequestId: uuid.NewString()}); err != nil {
		t.Fatal(err)
	}
	c.sweep()
	if got := c.operation(op); got.State() != engine.Running {
		t.Errorf("the operation is %+v", got)
	}
}

// A workflow that no worker can take further is there, and shown as held.
func TestSweepOfTheFailing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	w := worker.New(c.client, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context, steps.Ref) error { panic("a fault of ours") }, workflow.RegisterOptions{Name: string(operations.ServerStart)})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	_, f := c.running(operations.ServerStart)
	op := f.OperationID
	c.sweep() // nothing is there, so it is started
	c.eventually("it is held", func() bool {
		c.sweep()
		return c.operation(op).Hold == "failing"
	})
	if got := c.operation(op).State(); got != engine.Held {
		t.Errorf("it is %s", got)
	}
}

// Each way in which a workflow ends by other hands.
func TestSweepOfTheDead(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	ends := map[string]func(op string){
		"terminated": func(op string) {
			if err := c.client.TerminateWorkflow(t.Context(), op, "", "by hand"); err != nil {
				t.Fatal(err)
			}
		},
		"completed": func(op string) {
			c.say(op, "drop")
			c.eventually("it has ended", func() bool { return c.status(op) == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED })
		},
	}
	for name, end := range ends {
		t.Log(name)
		thing, op := c.carried(operations.ServerStart)
		end(op)
		c.sweep()
		c.recovered(thing, op)
	}
}

// What waits behind a dead operation runs once that is recovered.
func TestSweepOfADeadOneThatWasPreempted(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	thing, op := c.carried(operations.ServerReboot)
	next := c.accept(operations.ServerDelete, thing).OperationID
	if err := c.client.TerminateWorkflow(t.Context(), op, "", "by hand"); err != nil {
		t.Fatal(err)
	}
	c.sweep()
	heir := c.heir(op)
	c.tick()
	c.until(heir.ID, engine.State(operations.ResultDone), "")
	c.tick()
	c.until(next, engine.Running, operations.StepGuest)
	c.say(next, "go")
	c.until(next, engine.State(operations.ResultDone), "")
	c.silent()
}

// Workflows that Temporal has lost are started from nothing, and go on.
func TestSweepOfTheLost(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	var ops []string
	for range 12 {
		_, f := c.running(operations.ServerStart)
		ops = append(ops, f.OperationID)
	}
	if c.loops.Health().Alarm {
		t.Error("an alarm before anything was lost")
	}
	c.sweep()
	if !c.loops.Health().Alarm {
		t.Error("no alarm")
	}
	for _, op := range ops {
		if row := c.until(op, engine.Running, operations.StepGuest); row.RunID == "run-1" {
			t.Errorf("%s is still the old run's", op)
		}
		c.say(op, "go")
		c.until(op, engine.State(operations.ResultDone), "")
	}
	c.silent()
}

func TestSweepAfterTheDeadline(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	_, living := c.carried(operations.ServerStop)
	lostThing, lost := c.running(operations.ServerStart)
	never := c.newThing()
	neverOp := c.accept(operations.ServerStart, never).OperationID
	del := c.accept(operations.ServerDelete, c.newThing()).OperationID
	sharing := c.newThing()
	shared, waiting := c.accept(operations.ServerAttachVolume, sharing).OperationID, c.accept(operations.ServerAttachVolume, sharing).OperationID
	c.exec(`UPDATE engine.operations SET deadline = now() - interval '1 second'`)
	c.sweep()
	if op := c.operation(shared); op.ErrorCode != "DeadlineExceeded" {
		t.Errorf("the one that shares, and never began, is %+v", op)
	}
	if op := c.operation(waiting); op.Finished() || op.StartAfter == nil {
		t.Errorf("the one behind it is %+v", op)
	}
	c.recovered(lostThing, lost.OperationID)
	if op := c.operation(living); op.Finished() {
		t.Errorf("the living one is %+v", op)
	}
	if op := c.operation(neverOp); op.Result != operations.ResultFailed || op.ErrorCode != "DeadlineExceeded" {
		t.Errorf("the one that never began is %+v", op)
	}
	if at := c.thing(never); at.holder != "" || at.abandoned != "server.start failed DeadlineExceeded" {
		t.Errorf("its thing is %+v", at)
	}
	if op := c.operation(del); op.Finished() {
		t.Errorf("the delete is %+v", op)
	}
}

// A workflow that was reset by hand does nothing more, wherever it was reset
// to, and its operation is recovered.
func TestSweepAfterAReset(t *testing.T) {
	t.Parallel()
	for _, last := range []bool{false, true} {
		name := "to its first task"
		if last {
			name = "to its last task"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			c.serve()
			thing, op := c.carried(operations.ServerStart)
			c.say(op, "wake") // a second task
			c.eventually("a second task", func() bool { return len(c.tasks(op)) >= 2 })
			tasks := c.tasks(op)
			task := tasks[0]
			if last {
				task = tasks[len(tasks)-1]
			}
			before := c.operation(op)
			_, err := c.client.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
				Namespace:                 c.namespace,
				WorkflowExecution:         &common.WorkflowExecution{WorkflowId: op, RunId: before.RunID},
				Reason:                    "by hand",
				WorkflowTaskFinishEventId: task,
				RequestId:                 uuid.NewString(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if last {
				c.say(op, "go")
			}
			c.eventually("the new run has ended", func() bool { return c.status(op) != enums.WORKFLOW_EXECUTION_STATUS_RUNNING })
			after := c.operation(op)
			if after.Finished() || after.RunID != before.RunID || !after.DispatchedAt.Equal(*before.DispatchedAt) {
				t.Errorf("the operation was %+v and is %+v", before, after)
			}
			c.sweep()
			c.recovered(thing, op)
		})
	}
}

// tasks are the ids of the events at which workflow tasks were completed.
func (c *cloud) tasks(id string) []int64 {
	c.t.Helper()
	var ids []int64
	history := c.client.GetWorkflowHistory(c.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		if event := must(history.Next())(c.t); event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			ids = append(ids, event.GetEventId())
		}
	}
	return ids
}
