package stack

// The traversal: each resource is worked on as soon as what it needs is done.
//
// Instant resources go in batches, those that become ready by others of the same
// batch included; each of the others is an activity of its own, a bounded number
// at a time. One that waits occupies neither: it is asked again when its time has
// come, or at a knock. The first that fails keeps others from being begun, and
// those being worked on come to their end; but a check goes on and tells of all.

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

const (
	// batch is how many instant resources go in one local step.
	batch = 50
	// atOnce is how many activities there are at a time.
	atOnce = 50
	// longHistory is how many events a history has before it continues in
	// another, unless the SDK says so earlier.
	longHistory = 4000
)

// failureCode is the original's name of a resource that failed.
const failureCode = "ResourceFailure"

// titles are actions as the reason of a timeout has them.
var titles = map[string]string{actionCreate: "Create", actionAdopt: "Adopt", actionUpdate: "Update", actionDelete: "Delete", actionRollback: "Rollback",
	actionCheck: "Check", actionSuspend: "Suspend", actionResume: "Resume", actionSnapshot: "Snapshot", actionRestore: "Restore"}

// timeout is when the operation's traversal has taken too long.
func timeout(s *saga.Saga) time.Time {
	spec, _ := operations.Lookup(s.Begun.Kind)
	return s.Begun.Deadline.Add(s.Begun.Stack.Timeout - spec.Deadline)
}

// traversal is one way through a stack's graph.
type traversal struct {
	*saga.Saga
	ctx     workflow.Context // of the workflow
	work    workflow.Context // of what is worked on
	stop    workflow.CancelFunc
	phase   steps.Phase
	ids     []int64
	nodes   map[int64]int
	walk    *graph.Walk
	graph   graph.Graph
	back    graph.Graph
	instant map[int]bool
	// waiting has when a node is to be asked again.
	waiting map[int]time.Time
	answers workflow.Channel
	active  int
	// ends is when it has taken too long, late the timer of that; nil as long as nothing
	// was waited for.
	ends  time.Time
	late  workflow.Future
	alarm alarm
	// over says why nothing more is begun; nil if nothing keeps it.
	over error
	// broken is what a check has found, in the order of the nodes' failures.
	broken []string
	// unasked says that there are resources that a check can't ask.
	unasked bool
}

// alarm is a timer, until when it runs, and how it is stopped.
type alarm struct {
	timer workflow.Future // nil if none is set
	at    time.Time
	stop  workflow.CancelFunc
}

// answer is what came of the work on one node.
type answer struct {
	node int
	out  steps.WorkOut
	err  error
}

// traverse follows the graph of a phase until it has come to its end, ends has
// come, or it was cancelled. The error may be to continue as new.
func traverse(ctx workflow.Context, s *saga.Saga, phase steps.Phase, action string, ends time.Time) error {
	t, err := enter(ctx, s, phase, ends)
	if err != nil {
		return err
	}
	return t.follow(titles[action] + " timed out")
}

// enter begins a traversal, which is to be followed.
func enter(ctx workflow.Context, s *saga.Saga, phase steps.Phase, ends time.Time) (*traversal, error) {
	plan, err := planned(s, phase)
	if err != nil {
		return nil, err
	}
	t := &traversal{Saga: s, ctx: ctx, phase: phase, ids: plan.IDs, graph: graph.Graph{Needs: plan.Needs},
		unasked: plan.Unasked, ends: ends,
		nodes: map[int64]int{}, instant: map[int]bool{}, waiting: map[int]time.Time{}, answers: workflow.NewBufferedChannel(ctx, atOnce)}
	if t.walk, err = graph.NewWalk(t.graph, plan.Done...); err != nil {
		return nil, faults.Wrap(err, faults.Internal, "InvalidGraph", "the stack's graph can't be followed")
	}
	t.back = t.graph.Reverse()
	for node, id := range plan.IDs {
		t.nodes[id] = node
	}
	for _, node := range plan.Instant {
		t.instant[node] = true
	}
	t.work, t.stop = workflow.WithCancel(s.Context())
	return t, nil
}

// planned is the plan of a phase, before which the zones are read that its template asks
// for.
func planned(s *saga.Saga, phase steps.Phase) (steps.PlanOut, error) {
	in := steps.PlanIn{Fence: s.Fence, Phase: phase}
	plan, err := steps.Resources.Plan(s.Context(), in)
	if err != nil || !plan.Zones {
		return plan, err
	}
	if _, err := steps.Resources.Zones(s.Context(), steps.ZonesIn(in)); err != nil {
		return plan, err
	}
	plan, err = steps.Resources.Plan(s.Context(), in)
	if err == nil && plan.Zones {
		err = faults.New(faults.Internal, "NoZones", "the availability zones that the template asks for are not kept")
	}
	return plan, err
}

// follow is the traversal itself.
func (t *traversal) follow(timedOut string) error {
	defer t.stop()
	for {
		if t.over == nil && t.work.Err() == nil && !workflow.Now(t.ctx).Before(t.ends) {
			t.over = faults.New(faults.Internal, steps.StackTimeout, "%s", timedOut)
			t.stop()
		}
		t.heed()
		renew := t.tooLong()
		if t.over == nil && !renew {
			if err := t.begin(); err != nil {
				return err
			}
			if t.over != nil {
				continue
			}
		}
		switch {
		case t.active > 0:
		case t.over != nil:
			return t.over
		case t.walk.Over():
			return nil
		case renew:
			return workflow.NewContinueAsNewError(t.ctx, string(t.Begun.Kind), steps.Ref{OperationID: t.Fence.OperationID})
		case len(t.waiting) == 0:
			return faults.New(faults.Internal, "InvalidGraph", "the stack's graph can't be followed")
		}
		t.await()
	}
}

// heed has a cancel end the traversal.
func (t *traversal) heed() {
	if t.over == nil && t.Cancelled() && !t.Forward() {
		t.over = saga.ErrCancelled
		t.stop()
	}
}

// tooLong says that the history is long enough.
func (t *traversal) tooLong() bool {
	info := workflow.GetInfo(t.ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= longHistory
}

// begin has everything worked on that can be.
func (t *traversal) begin() error {
	for t.over == nil {
		nodes := t.batch()
		if len(nodes) == 0 {
			break
		}
		if t.heed(); t.over != nil {
			break
		}
		out, err := steps.Resources.Batch(t.Context(), steps.WorkIn{Fence: t.Fence, Phase: t.phase, IDs: t.names(nodes)})
		if err != nil {
			return err
		}
		t.take(out)
		if t.tooLong() {
			break
		}
	}
	for _, node := range t.due(false) {
		if t.over != nil || t.active >= atOnce {
			break
		}
		t.start(node)
	}
	return nil
}

// due are the nodes that may be worked on now: ready, or waiting no longer.
func (t *traversal) due(instant bool) []int {
	now := workflow.Now(t.ctx)
	nodes := t.walk.Ready()
	// They are sorted below.
	//workflowcheck:ignore
	for node, at := range t.waiting {
		if !at.After(now) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return slices.DeleteFunc(nodes, func(node int) bool { return t.instant[node] != instant })
}

// batch are instant nodes, those included that become ready by others in it.
func (t *traversal) batch() []int {
	nodes := t.due(true)
	inside := map[int]bool{}
	for _, node := range nodes {
		inside[node] = true
	}
	ready := func(node int) bool {
		for _, need := range t.graph.Needs[node] {
			if t.walk.State(need) != graph.Done && !inside[need] {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(nodes) && len(nodes) < batch; i++ {
		for _, next := range t.back.Needs[nodes[i]] {
			if t.instant[next] && !inside[next] && t.walk.State(next) == graph.Waiting && ready(next) {
				inside[next] = true
				nodes = append(nodes, next)
			}
		}
	}
	return nodes[:min(len(nodes), batch)]
}

func (t *traversal) names(nodes []int) []int64 {
	ids := make([]int64, len(nodes))
	for i, node := range nodes {
		ids[i] = t.ids[node]
	}
	return ids
}

// start has one node worked on by an activity of its own.
func (t *traversal) start(node int) {
	t.running(node)
	t.active++
	workflow.Go(t.work, func(ctx workflow.Context) {
		out, err := steps.Resources.Work(ctx, steps.WorkIn{Fence: t.Fence, Phase: t.phase, IDs: []int64{t.ids[node]}})
		t.answers.Send(ctx, answer{node, out, err})
	})
}

// running says that a node is being worked on.
func (t *traversal) running(node int) {
	delete(t.waiting, node)
	if t.walk.State(node) == graph.Ready {
		_ = t.walk.Start(node) // it is ready
	}
}

// await waits for an answer, for the time of a node that waits, for the end of
// all time, or for a knock. Whatever a lost knock was for is asked when its time has come.
func (t *traversal) await() {
	selector := workflow.NewSelector(t.ctx)
	selector.AddReceive(t.answers, func(c workflow.ReceiveChannel, _ bool) {
		var a answer
		c.Receive(t.ctx, &a)
		t.hear(a)
	})
	selector.AddReceive(workflow.GetSignalChannel(t.ctx, steps.Knock), func(c workflow.ReceiveChannel, _ bool) {
		var first steps.Knocked
		c.Receive(t.ctx, &first)
		t.knocked(first)
		for more := (steps.Knocked{}); c.ReceiveAsync(&more); more = (steps.Knocked{}) {
			t.knocked(more)
		}
	})
	if t.over == nil {
		if t.late == nil {
			t.late = workflow.NewTimerWithOptions(t.work, t.ends.Sub(workflow.Now(t.ctx)), workflow.TimerOptions{Summary: "the stack's timeout"})
		}
		selector.AddFuture(t.late, func(workflow.Future) {})
		if t.set() {
			selector.AddFuture(t.alarm.timer, func(workflow.Future) { t.alarm = alarm{} })
		}
	}
	selector.Select(t.ctx)
}

// knocked has the nodes that a knock is for be looked at, or all if it names none.
func (t *traversal) knocked(k steps.Knocked) {
	now := workflow.Now(t.ctx)
	for _, id := range k.Nodes {
		node, is := t.nodes[id]
		if _, waits := t.waiting[node]; is && waits {
			t.waiting[node] = now
		}
	}
	if len(k.Nodes) > 0 {
		return
	}
	// Each is set alike.
	//workflowcheck:ignore
	for node := range t.waiting {
		t.waiting[node] = now
	}
}

// set sets the alarm, if anything waits. One that is set for earlier stays: it finds
// nothing to do.
func (t *traversal) set() bool {
	first, waits := t.first()
	if !waits || t.alarm.timer != nil && !t.alarm.at.After(first) {
		return waits
	}
	if t.alarm.timer != nil {
		t.alarm.stop()
	}
	ctx, stop := workflow.WithCancel(t.work)
	pause := max(first.Sub(workflow.Now(t.ctx)), 0)
	t.alarm = alarm{workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: "a resource takes its time"}), first, stop}
	return true
}

// first is when the first of the nodes that wait is to be asked again. Those whose time
// has come already wait for a place among those that are worked on.
func (t *traversal) first() (at time.Time, waits bool) {
	now := workflow.Now(t.ctx)
	// It is the least of all.
	//workflowcheck:ignore
	for _, one := range t.waiting {
		if one.After(now) && (!waits || one.Before(at)) {
			at, waits = one, true
		}
	}
	return at, waits
}

// hear takes the answer of an activity.
func (t *traversal) hear(a answer) {
	t.active--
	switch {
	case a.err == nil:
		t.take(a.out)
	case t.over != nil || t.work.Err() != nil:
		// It was stopped; its row is ended with the operation.
	case saga.Reason(a.err).Kind == faults.Superseded:
		t.over = a.err
	default:
		out, err := steps.Resources.Fail(t.Context(), steps.FailIn{Fence: t.Fence, Phase: t.phase, ID: t.ids[a.node], Reason: saga.Reason(a.err).Message})
		if err != nil {
			t.over = err
			return
		}
		t.fail(a.node, out.Reason)
	}
}

// take takes what a step says of the nodes that it has worked on.
func (t *traversal) take(out steps.WorkOut) {
	t.Hear(out.CancelRequested)
	for _, id := range out.Done {
		node := t.nodes[id]
		t.running(node)
		t.walk.Finish(node)
	}
	for _, w := range out.Waiting {
		node := t.nodes[w.ID]
		t.running(node)
		t.waiting[node] = workflow.Now(t.ctx).Add(w.After)
	}
	if out.Failed != nil {
		t.fail(t.nodes[out.Failed.ID], out.Failed.Reason)
	}
}

// fail ends the traversal by the failure of a node; the first one is told.
func (t *traversal) fail(node int, reason string) {
	delete(t.waiting, node)
	if t.phase == steps.Check {
		t.walk.Finish(node)
		t.broken = append(t.broken, reason)
		return
	}
	t.walk.Fail(node)
	if t.over == nil {
		t.over = faults.New(faults.Internal, failureCode, "%s", reason)
	}
}
