package resources_test

// The world of the tests: a database with a stack, and the steps over it.

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/activities/records"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

// world is a database with a stack and the steps over it.
type world struct {
	*testing.T
	db     *store.DB
	box    *secrets.Box
	types  resources.Types
	stack  *orchestration.Stack
	fence  steps.Fence
	engine *engine.Engine
	// users are made for the stack, if there are any.
	users resources.Users
	// cloud has the services, if there are any.
	cloud resources.Cloud
	// knocks are the nodes of operations that were knocked at.
	knocks []string
}

// outside is a type that has something outside, and does as it is told.
type outside struct {
	there map[string]bool
	fail  error
}

func (*outside) Instant() bool { return false }

func (o *outside) Create(_ context.Context, c *resources.Call) (time.Duration, error) {
	if o.fail != nil {
		return 0, o.fail
	}
	o.there[c.Mark] = true
	c.PhysicalID = "outside-" + c.Mark
	return 0, nil
}

func (o *outside) Update(ctx context.Context, c *resources.Call, _ []string) (time.Duration, error) {
	return o.Create(ctx, c)
}

func (o *outside) Delete(_ context.Context, c *resources.Call) (time.Duration, error) {
	delete(o.there, c.Mark)
	return 0, o.fail
}

// newWorld has a stack of a template, being created.
func newWorld(t *testing.T, template string) *world {
	t.Helper()
	return newWorldOf(t, value.NewMap("template", template))
}

// newWorldOf is a world with a stack that a body asks for.
func newWorldOf(t *testing.T, body *value.Map) *world {
	t.Helper()
	return newWorldWith(t, body, func(w *world, _ *stacks.Definition) { w.fence = w.begin(operations.StackCreate) })
}

// newWorldWith is a world with a stack that a body asks for, and what becomes of that.
func newWorldWith(t *testing.T, body *value.Map, becomes func(*world, *stacks.Definition)) *world {
	t.Helper()
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: computetest.Open(t), box: box, types: resources.Builtin()}
	w.engine = engine.New(w.db, orchestration.Locks(), orchestration.SnapshotLocks())
	w.stack = &orchestration.Stack{ID: uuid.NewString(), Name: "s", ProjectID: "p", UserID: "u", Action: orchestration.ActionCreate, Reason: "Stack CREATE started"}
	request, err := stacks.ParseRequest(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := request.Define(hot.Identity{Project: "p", Name: "s", ID: w.stack.ID}, w.registry())
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	row, err := d.Row(w.stack.ID, box)
	if err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, w.db, func(tx store.Tx) error { return orchestration.InsertStack(t.Context(), tx, w.stack, row) })
	becomes(w, d)
	return w
}

func (w *world) registry() *resourcetype.Registry {
	w.Helper()
	registry, err := resourcetype.Builtin()
	if err != nil {
		w.Fatal(err)
	}
	return registry
}

// begin has an operation on the stack begun.
func (w *world) begin(kind operations.Kind, input ...any) steps.Fence {
	w.Helper()
	return w.take(w.accept(kind, input...).OperationID)
}

// accept has an operation on the stack accepted.
func (w *world) accept(kind operations.Kind, input ...any) (accepted engine.Accepted) {
	w.Helper()
	computetest.InTx(w.T, w.db, func(tx store.Tx) (err error) {
		request := engine.Request{Kind: kind, ResourceID: w.stack.ID, ProjectID: "p"}
		if len(input) > 0 {
			request.Input = input[0]
		}
		accepted, err = w.engine.Accept(w.Context(), tx, request)
		return err
	})
	return accepted
}

// take begins an operation that has its turn.
func (w *world) take(id string) steps.Fence {
	w.Helper()
	begun, err := w.records().Begin(w.Context(), steps.BeginIn{OperationID: id, RunID: "run"})
	if err != nil || begun.Verdict != steps.Run || begun.Stack == nil {
		w.Fatalf("%+v, %v", begun, err)
	}
	return steps.Fence{OperationID: id, Generation: begun.Generation, RunID: "run"}
}

// lost has the workflow of the operation be lost, and another operation recover it.
func (w *world) lost() {
	w.Helper()
	var heir string
	computetest.InTx(w.T, w.db, func(tx store.Tx) (err error) {
		heir, err = w.engine.Recover(w.Context(), tx, w.fence.OperationID, "it was lost")
		return err
	})
	w.fence = w.take(heir)
}

func (w *world) records() *records.Activities {
	a := records.New(w.db, w.engine, func(string) {})
	a.Knock = func(operationID string, node int64) { w.knocks = append(w.knocks, fmt.Sprint(operationID, " ", node)) }
	return a
}

func (w *world) on(db *store.DB) *resources.Activities {
	return resources.New(db, engine.New(db, orchestration.Locks(), orchestration.SnapshotLocks()),
		resources.Options{Users: w.users, Cloud: w.cloud, SignedURL: "http://guests/cloudformation", AuthURL: "http://keystone/v3", Region: "one",
			Box: w.box, Registry: w.registry(), Types: w.types, MaxResources: 1000, MaxConfigs: 1000, GuestURL: "http://guests/orchestration", Heartbeat: func(context.Context) {}})
}

func (w *world) plan(phase steps.Phase) steps.PlanOut {
	w.Helper()
	out, err := w.on(w.db).Plan(w.Context(), steps.PlanIn{Fence: w.fence, Phase: phase})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) batch(phase steps.Phase, ids ...int64) steps.WorkOut {
	w.Helper()
	out, err := w.on(w.db).Batch(w.Context(), steps.WorkIn{Fence: w.fence, Phase: phase, IDs: ids})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// later works on nodes until they wait no longer, each time once they may be
// looked at again.
func (w *world) later(phase steps.Phase, ids ...int64) (out steps.WorkOut) {
	w.Helper()
	for range 100 {
		if out = w.batch(phase, ids...); len(out.Waiting) == 0 {
			break
		}
		time.Sleep(out.Waiting[0].After)
	}
	return out
}

func (w *world) rows() map[string]*orchestration.Resource {
	w.Helper()
	rows, err := orchestration.Resources(w.Context(), w.db.Pool, w.stack.ID)
	if err != nil {
		w.Fatal(err)
	}
	named := map[string]*orchestration.Resource{}
	for _, r := range rows {
		named[r.Name] = r
	}
	return named
}

func (w *world) events() []string {
	w.Helper()
	events, err := orchestration.ListEvents(w.Context(), w.db.Pool, orchestration.EventFilter{StackIDs: []string{w.stack.ID}})
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s %s_%s", e.ResourceName, e.Action, e.Status))
	}
	return all
}

// made has the stack made, and the create over.
func (w *world) made() {
	w.Helper()
	if out := w.batch(steps.Make, w.plan(steps.Make).IDs...); out.Failed != nil {
		w.Fatalf("%+v", out)
	}
	w.end("CREATE", "COMPLETE")
}

func (w *world) end(action, status string) {
	w.Helper()
	_, err := w.records().Finish(w.Context(), steps.FinishIn{Fence: w.fence, Result: operations.ResultDone, Stack: &steps.StackOutcome{Action: action, Status: status}})
	if err != nil {
		w.Fatal(err)
	}
}

// cancelled ends the operation as one that was cancelled, and gives the one whose
// turn it is then.
func (w *world) cancelled(action string) (next string) {
	w.Helper()
	out, err := w.records().Finish(w.Context(), steps.FinishIn{Fence: w.fence, Result: operations.ResultCancelled, Fault: &steps.Fault{Message: "cancelled"},
		Stack: &steps.StackOutcome{Action: action, Status: "FAILED", Reason: "Stack " + action + " cancelled"}})
	if err != nil {
		w.Fatal(err)
	}
	return out.Next
}

// follow does all that a plan says, one after the other.
func (w *world) follow(phase steps.Phase) (last steps.WorkOut) {
	w.Helper()
	return w.followFor(phase, math.MaxInt)
}

// followFor does so many of the first things that a plan says.
func (w *world) followFor(phase steps.Phase, most int) (last steps.WorkOut) {
	w.Helper()
	plan := w.plan(phase)
	order, err := graph.Graph{Needs: plan.Needs}.Order()
	if err != nil {
		w.Fatal(err)
	}
	for _, node := range order[:min(most, len(order))] {
		if slices.Contains(plan.Done, node) {
			continue
		}
		if last = w.batch(phase, plan.IDs[node]); last.Failed != nil {
			return last
		}
	}
	return last
}
