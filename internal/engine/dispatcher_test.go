package engine_test

import (
	"fmt"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// What was accepted and offered to nobody is started, and once only.
func TestDispatch(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	var ops []string
	for range 20 {
		ops = append(ops, c.accept(operations.ServerStart, c.newThing()).OperationID)
	}
	// Left to the starter for two seconds.
	if err := c.loops.Dispatcher().Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.status(ops[0]); got != enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		t.Errorf("started at once: %s", got)
	}
	c.tick()
	c.tick() // nobody serves yet: they are started and have not begun
	c.serve()
	for _, op := range ops {
		c.until(op, engine.Running, operations.StepGuest)
		c.say(op, "go")
	}
	for _, op := range ops {
		c.until(op, engine.State(operations.ResultDone), "")
	}
	c.silent()
}

// While older operations are beginning, a younger one waits for its turn in
// Temporal's queue and is not started a second time; then it is.
func TestDispatchOfWhatQueues(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	older := c.accept(operations.ServerStart, c.newThing()).OperationID
	younger := c.accept(operations.ServerStart, c.newThing()).OperationID
	c.due()
	c.exec(`UPDATE engine.operations SET dispatched_at = now() WHERE id = '` + older + `'`)
	tick := func() {
		t.Helper()
		if err := c.loops.Dispatcher().Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tick()
	if got := c.status(younger); got != enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		t.Errorf("started while an older one begins: %s", got)
	}
	c.exec(`UPDATE engine.operations SET dispatched_at = now() - interval '3 seconds' WHERE id = '` + older + `'`)
	tick()
	if got := c.status(younger); got != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("none begins any more: %s", got)
	}
}

// A preempted operation is cancelled and ends, and the next one is started.
func TestDispatchOfCancels(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	thing, running := c.carried(operations.ServerReboot)
	next := c.accept(operations.ServerDelete, thing).OperationID
	c.tick()
	if got := c.status(next); got != enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		t.Errorf("one that waits is started: %s", got)
	}
	c.until(running, engine.State(operations.ResultCancelled), "")
	c.tick()
	c.until(next, engine.Running, operations.StepGuest)
	c.tick() // delivered to nobody, which is no error
	c.say(next, "go")
	c.until(next, engine.State(operations.ResultDone), "")
	c.eventually("the cancelled workflow shows as such", func() bool { return c.status(running) == enums.WORKFLOW_EXECUTION_STATUS_CANCELED })
	c.silent()
}

// A workflow that ended before it began its operation can't be started again.
func TestDispatchOfOneWhoseWorkflowIsClosed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	build, del := c.newThing(), c.newThing()
	buildOp, delOp := c.accept(operations.ServerBuild, build).OperationID, c.accept(operations.ServerDelete, del).OperationID
	c.tick()
	for _, op := range []string{buildOp, delOp} {
		if err := c.client.TerminateWorkflow(t.Context(), op, "", "by hand"); err != nil {
			t.Fatal(err)
		}
	}
	c.tick()
	if op := c.operation(buildOp); op.Result != operations.ResultFailed || op.ErrorCode != "OperationLost" {
		t.Errorf("the build is %+v", op)
	}
	if at := c.thing(build); at != (thing{generation: 2, abandoned: "server.build failed OperationLost"}) {
		t.Errorf("its thing is %+v", at)
	}
	c.serve()
	c.recovered(del, delOp)
}

// What a client sent may be longer than a search attribute.
func TestDispatchOfLongValues(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	op := c.accept(operations.ServerStart, c.newThing()).OperationID
	c.exec(`UPDATE engine.operations SET request_id = repeat('ü', 3000), project_id = repeat('x', 256) WHERE id = $1`, op)
	c.tick()
	if got := c.status(op); got != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("it is %s", got)
	}
}

func TestDispatchWhileTemporalIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		c := newCloudOn(t, w, "127.0.0.1:1", fmt.Sprint("nowhere-", i))
		w.accept(operations.ServerStart, w.newThing())
		c.due()
		if err := c.loops.Dispatcher().Tick(t.Context()); !faults.Is(err, faults.Unavailable) {
			t.Errorf("%v, want unavailable", err)
		}
	}
	w.silent()
}

// A workflow that was started too early, by whomever, waits for its turn.
func TestAWorkflowStartedTooEarlyWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	thing, running := c.carried(operations.ServerReboot)
	next := c.accept(operations.ServerDelete, thing).OperationID
	_, err := c.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: next, TaskQueue: queue}, "server.delete", steps.Ref{OperationID: next})
	if err != nil {
		t.Fatal(err)
	}
	c.say(next, "go")
	c.tick()
	c.until(running, engine.State(operations.ResultCancelled), "")
	c.until(next, engine.State(operations.ResultDone), "")
	c.silent()
}
