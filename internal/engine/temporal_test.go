package engine_test

// What the tests against a Temporal server stand on: a worker with one small
// workflow for every kind of operation.

import (
	"context"
	"errors"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
)

const queue = "control"

// cloud is a world with a Temporal server and, once served, a worker.
type cloud struct {
	*world
	address, namespace string
	client             client.Client
	loops              *engine.Loops
}

func newCloud(t testing.TB) *cloud {
	t.Helper()
	address, namespace := testenv.Temporal(t)
	return newCloudOn(t, newWorld(t), address, namespace)
}

func newCloudOn(t testing.TB, w *world, address, namespace string) *cloud {
	t.Helper()
	c := &cloud{world: w, address: address, namespace: namespace}
	c.client = must(engine.Dial(engine.TemporalOptions{Address: address, Namespace: namespace}))(t)
	t.Cleanup(c.client.Close)
	c.loops = w.e.NewLoops(c.client, queue)
	return c
}

// serve runs a worker until the test ends or it is told to stop.
func (c *cloud) serve() (stop func()) {
	c.t.Helper()
	w := worker.New(c.client, queue, worker.Options{})
	for _, spec := range kinds() {
		w.RegisterWorkflowWithOptions(tale, workflow.RegisterOptions{Name: string(spec.Kind)})
	}
	r := &tellers{c.world}
	w.RegisterActivityWithOptions(r.begin, activity.RegisterOptions{Name: "records.Begin"})
	w.RegisterActivityWithOptions(r.advance, activity.RegisterOptions{Name: "records.Advance"})
	w.RegisterActivityWithOptions(r.finish, activity.RegisterOptions{Name: "records.Finish"})
	if err := w.Start(); err != nil {
		c.t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			w.Stop()
		}
	}
	c.t.Cleanup(stop)
	return stop
}

// tellers do the steps of the tale.
type tellers struct{ w *world }

func inTx[In, Out any](ctx context.Context, w *world, in In, f func(context.Context, store.Tx, In) (Out, error)) (out Out, err error) {
	err = w.db.InTx(ctx, func(tx store.Tx) error {
		out, err = f(ctx, tx, in)
		return err
	})
	if err != nil {
		err = steps.Encode(err)
	}
	return out, err
}

func (r *tellers) begin(ctx context.Context, in steps.BeginIn) (steps.BeginOut, error) {
	return inTx(ctx, r.w, in, r.w.e.Begin)
}

func (r *tellers) advance(ctx context.Context, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	return inTx(ctx, r.w, in, r.w.e.Advance)
}

func (r *tellers) finish(ctx context.Context, in steps.FinishIn) (steps.FinishOut, error) {
	return inTx(ctx, r.w, in, r.w.e.Finish)
}

// tale is an operation in its shortest form: it begins, takes a step, waits to
// be told to go on (a recovery doesn't), and finishes. Told to "drop", it ends
// without having finished.
func tale(ctx workflow.Context, ref steps.Ref) error {
	info := workflow.GetInfo(ctx)
	run := info.WorkflowExecution.RunID
	d, _ := workflow.NewDisconnectedContext(ctx)
	begun, err := steps.Records.Begin(d, steps.BeginIn{OperationID: ref.OperationID, RunID: run, Reset: info.OriginalRunID != run})
	if err != nil || begun.Verdict != steps.Run {
		workflow.SetCurrentDetails(ctx, begun.Reason)
		return err
	}
	f := steps.Fence{OperationID: ref.OperationID, Generation: begun.Generation, RunID: run}
	out, err := steps.Records.Advance(d, steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: begun.ResourceID, Host: "h1"}}})
	if err != nil {
		return err
	}
	result := operations.ResultDone
	if begun.Recovers == nil {
		word := ""
		for word == "" || word == "wake" {
			selector := workflow.NewSelector(ctx)
			selector.AddReceive(workflow.GetSignalChannel(ctx, "word"), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, &word) })
			selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { word = "cancel" })
			selector.Select(ctx)
		}
		switch word {
		case "drop":
			return nil
		case "cancel":
			result = operations.ResultCancelled
		}
	}
	in := steps.FinishIn{Fence: f, Result: result}
	for _, e := range out.Effects {
		if e.Open() && result != operations.ResultDone {
			in.Settle = append(in.Settle, steps.Settlement{Seq: e.Seq, State: operations.Undone})
		}
	}
	if _, err := steps.Records.Finish(d, in); err != nil {
		return err
	}
	if result == operations.ResultCancelled {
		return temporal.NewCanceledError()
	}
	return nil
}

// patient is how long the tests wait for what happens elsewhere.
const patient = testenv.Patience

// eventually waits until something holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patient); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within %s", what, patient)
		}
	}
}

// until waits until an operation is in a state, and in that step if one is given.
func (w *world) until(id string, state engine.State, step string) engine.Operation {
	w.t.Helper()
	var op engine.Operation
	w.eventually(id+" is "+string(state)+" "+step, func() bool {
		op = w.operation(id)
		return op.State() == state && (step == "" || op.Step == step)
	})
	return op
}

// due makes everything due: starts, cancels and looks.
func (w *world) due() {
	w.t.Helper()
	w.exec(`UPDATE engine.operations SET start_after = now() WHERE start_after IS NOT NULL AND finished_at IS NULL`)
	w.exec(`UPDATE engine.operations SET dispatched_at = dispatched_at - interval '1 minute' WHERE finished_at IS NULL`)
	w.exec(`UPDATE engine.operations SET cancel_sent_at = NULL, checked_at = now() - interval '1 minute' WHERE finished_at IS NULL`)
}

func (c *cloud) tick() {
	c.t.Helper()
	c.due()
	if err := c.loops.Dispatcher().Tick(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cloud) sweep() {
	c.t.Helper()
	c.due()
	if err := c.loops.Sweeper().Sweep(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// say tells an operation's workflow a word.
func (c *cloud) say(id, word string) {
	c.t.Helper()
	if err := c.client.SignalWorkflow(c.t.Context(), id, "", "word", word); err != nil {
		c.t.Fatal(err)
	}
}

// status is that of an operation's workflow; unspecified if there is none.
func (c *cloud) status(id string) enums.WorkflowExecutionStatus {
	c.t.Helper()
	got, err := c.client.DescribeWorkflow(c.t.Context(), id, "")
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return got.Status
}

// carried is an operation that its workflow carries out and has come to a step.
func (c *cloud) carried(kind operations.Kind) (thing, id string) {
	c.t.Helper()
	thing = c.newThing()
	id = c.accept(kind, thing).OperationID
	c.tick()
	c.until(id, engine.Running, operations.StepGuest)
	return thing, id
}

// heir waits for the operation that recovers another.
func (c *cloud) heir(dead string) engine.Operation {
	c.t.Helper()
	var heir engine.Operation
	for _, op := range must(c.e.Operations(c.t.Context(), c.db.Pool, engine.Filter{Kind: operations.ServerRecover}))(c.t) {
		if op.RetryOf == dead {
			heir = op
		}
	}
	if heir.ID == "" {
		c.t.Fatalf("nothing recovers %s: %+v", dead, c.operation(dead))
	}
	return heir
}

// recovered checks that an operation has been recovered and runs the recovery.
func (c *cloud) recovered(thing, dead string) {
	c.t.Helper()
	heir := c.heir(dead)
	if op := c.operation(dead); op.Result != operations.ResultFailed || op.ErrorCode != "OperationLost" {
		c.t.Errorf("the dead one is %+v", op)
	}
	c.tick()
	c.until(heir.ID, engine.State(operations.ResultDone), "")
	if at := c.world.thing(thing); at.holder != "" {
		c.t.Errorf("the thing is %+v", at)
	}
	c.silent()
}
