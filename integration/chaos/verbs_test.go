package chaos

// What operators and users may do to an operation that is at work: every verb
// to every kind, in full at each of its points.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
)

// A verb is something that is done to operations that stand at their points.
type verb struct {
	name string
	do   func(t *testing.T, c *cloud.Cloud, all []held)
	// zombies says that the operations end although their steps are held: those
	// go on only afterwards, and must not change anything then. Otherwise steps
	// that the verb does not reach are let go first.
	zombies bool
	// passes says that the verb cuts nothing of the operation short; nil for one
	// that always does.
	passes func(held) bool
	// adrift says that a guest may be in another state than its server's status
	// says, until the operation is asked for again.
	adrift bool
	// again says that there is a second run, of which a first that is a single task may
	// hear only when it has ended.
	again bool
	// hostless are the ends of those that nobody can finish without the host that has
	// begun them; nil where it is alive.
	hostless []outcome
	// says is the status that the verb itself gives a server, whatever its guest is.
	says string
	// built, deleted, driven and moved are what becomes of operations of those kinds,
	// passed of those on power and moves that it passes by; without moved it is not for
	// those.
	built, deleted, driven, moved, passed ends
}

// ends are the outcomes of operations by how far they had come; several where
// either may come first.
type ends map[phase][]outcome

// outcome is how a server ends, and how the operation that was held does.
type outcome struct {
	status string // "" for gone
	result operations.Result
}

// The statuses that a story has before its operation and after it, and when it is left
// unfinished.
const (
	asBefore = "as before"
	asAfter  = "as after"
	asLeft   = "as left"
)

var (
	built     = outcome{asAfter, operations.ResultDone}
	kept      = outcome{asBefore, operations.ResultCancelled}
	gone      = outcome{"", operations.ResultDone}
	recovered = outcome{"", operations.ResultFailed}
	cancelled = outcome{"ERROR", operations.ResultCancelled}
	lost      = outcome{"ERROR", operations.ResultFailed}
	// Of operations on power.
	driven     = outcome{asAfter, operations.ResultDone}
	undriven   = outcome{asBefore, operations.ResultCancelled}
	lostLate   = outcome{asAfter, operations.ResultFailed}
	lostSoon   = outcome{asBefore, operations.ResultFailed}
	unfinished = outcome{asLeft, operations.ResultFailed}
	// Of those that another one took over from.
	goneBefore = []outcome{{"", operations.ResultCancelled}, {"", operations.ResultSuperseded}}
	goneAfter  = append(goneBefore, gone)
	running    = outcome{"ACTIVE", operations.ResultDone}
	runsBefore = []outcome{{"ACTIVE", operations.ResultCancelled}, {"ACTIVE", operations.ResultSuperseded}}
	runsAfter  = append(runsBefore, running)
	errs       = outcome{"ERROR", operations.ResultDone}
	errsBefore = []outcome{{"ERROR", operations.ResultCancelled}, {"ERROR", operations.ResultSuperseded}}
	errsAfter  = append(errsBefore, errs)
)

var gentle = []verb{
	{name: "cancel", do: cancelByCommand,
		built: ends{always: {cancelled}, over: {built}},
		// A delete is forward from its first step; before that a cancel ends it.
		deleted: ends{always: {gone}, unbegun: {kept}},
		driven:  ends{always: {driven}, unbegun: {undriven}, early: {undriven}, crossing: {undriven, driven}},
		moved:   ends{always: {driven}, unbegun: {undriven}, sure: {undriven}, early: {undriven}, crossing: {undriven, driven}, last: {undriven}}},
	{name: "cancel in the UI", do: cancelInTemporal,
		// The last step is a transaction, which no cancel cuts short.
		built:   ends{always: {cancelled}, closing: {built}, over: {built}},
		deleted: ends{always: {gone}},
		// Nor are the first ones, which lead beyond the point of no return.
		driven: ends{always: {driven}, unbegun: {undriven, driven}, early: {undriven, driven}, crossing: {undriven, driven}},
		moved:  ends{always: {driven}, unbegun: {undriven, driven}, early: {undriven, driven}, crossing: {undriven, driven}}},
	{name: "terminate", do: terminate, zombies: true,
		built:   ends{always: {lost}, over: {built}},
		deleted: ends{always: {recovered}, over: {gone}},
		driven:  ends{always: {lostLate}, unbegun: {lostSoon}, early: {lostSoon}, crossing: {lostSoon, lostLate}, over: {driven}},
		moved:   ends{always: {lostLate}, unbegun: {lostSoon}, early: {lostSoon}, crossing: {lostSoon, lostLate}, last: {lostSoon}, over: {driven}}},
	{name: "reset to the first task", do: resetTo(func(tasks []int64) int64 { return tasks[0] }), passes: everything,
		again: true, built: resetBuild, deleted: resetDelete, driven: resetPower, moved: resetMove},
	{name: "reset to the last task", do: resetTo(func(tasks []int64) int64 { return tasks[len(tasks)-1] }), passes: everything,
		again: true, built: resetBuild, deleted: resetDelete, driven: resetPower, moved: resetMove},
	{name: "signal", do: signal, passes: everything,
		built: ends{always: {built}}, deleted: ends{always: {gone}}, driven: ends{always: {driven}}, moved: ends{always: {driven}}},
	{name: "delete", do: deleteByUser,
		built:   ends{always: goneBefore, over: {gone}},
		deleted: ends{always: {gone}},
		driven:  ends{always: {gone}, unbegun: goneBefore, early: goneBefore, crossing: goneAfter},
		moved:   ends{always: goneAfter, unbegun: goneBefore, over: {gone}}},
	{name: "hard reboot", do: hardReboot, passes: refusesHardReboot,
		built: ends{always: {built}}, deleted: ends{always: {gone}},
		driven: ends{always: {running}, unbegun: runsBefore, early: runsBefore, crossing: runsAfter},
		passed: ends{always: {driven}, over: {running}}},
	{name: "reset state", do: resetState, passes: shared, says: "ERROR",
		built:   ends{always: errsBefore, over: {errs}},
		deleted: ends{always: {gone}},
		driven:  ends{always: {errs}, unbegun: errsBefore, early: errsBefore, crossing: errsAfter},
		moved:   ends{always: errsAfter, unbegun: errsBefore, over: {errs}},
		passed:  ends{always: {errs}}},
}

// A reset makes a second run, which may not go on where the first has begun. At
// the very start and at the very end it is open which of the two comes first,
// and a step of the first that is let go may still be heard.
var (
	resetBuild  = ends{always: {lost}, unbegun: {lost, built}, closing: {lost, built}, over: {built}}
	resetDelete = ends{always: {recovered}, unbegun: {recovered, gone}, closing: {recovered, gone}, over: {gone}}
	resetPower  = ends{always: {lostLate}, unbegun: {lostSoon, lostLate, driven}, early: {lostSoon, lostLate}, crossing: {lostSoon, lostLate},
		closing: {lostLate, driven}, over: {driven}}
	resetMove = ends{always: {lostLate}, unbegun: {lostSoon, lostLate, driven}, sure: {lostLate, driven}, early: {lostSoon, lostLate},
		crossing: {lostSoon, lostLate}, last: {lostSoon, driven}, closing: {lostLate, driven}, over: {driven}}
)

// withVerbs are the stories that every verb is done to, by the cloud that they are told
// in.
func withVerbs(full bool) map[string][]story {
	told := clouds(full)
	maps.Copy(told, map[string][]story{"build": {build}, "delete": {deletion}, "power": powers[:4], "power, frozen": slices.Concat(powers[4:], []story{crashDump})})
	return told
}

// With everything alive, all verbs at the same time. The kinds are
// spread over clouds so that none is crowded.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for name, stories := range withVerbs(full) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, v := range gentle {
				if v.moved != nil || !stories[0].moved {
					names = append(names, v.name)
				}
			}
			c := stories[0].start(t, 12, names...)
			var all []held
			for _, s := range stories {
				all = append(all, s.hang(t, c, names...)...)
			}
			for _, v := range gentle {
				v.do(t, c, of(v, all))
				if !v.zombies {
					v.letGo(t, c, of(v, all))
				}
			}
			for _, h := range all {
				finished(t, c, h.op.ID)
			}
			for _, h := range all {
				must(t, c.Points.Release(h.server))
			}
			time.Sleep(2 * time.Second) // zombies have their try
			stories[0].restore(c)
			for _, v := range gentle {
				v.check(t, c, of(v, all))
			}
			checkImages(t, c, all)
			checkVolumes(t, c, all)
			checkInterfaces(t, c, all)
			c.Audit()
			for _, h := range all {
				if err := trueState(t.Context(), c, h.server, false); err != nil {
					t.Errorf("%s, in the end: %v", h, err)
				}
			}
			clearAway(t, c, all)
		})
	}
}

// letGo lets the steps go on that the verb does not reach.
func (v verb) letGo(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		if v.passes != nil && v.passes(h) || !h.story.reached(h.point) {
			must(t, c.Points.Release(h.server))
		}
	}
}

// clearAway deletes what is left of the servers, and fails the test if that leaves
// anything.
func clearAway(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	var ids []string
	for _, h := range all {
		if err := h.story.remove(t.Context(), c, h.server); err != nil && !isGone(err) {
			t.Fatal(err)
		}
		ids = append(ids, h.server)
	}
	allAre(t, c, ids, "", patience)
	c.Audit()
	once(t, c, nil)
}

// of are the operations that a verb is done to.
func of(v verb, all []held) (its []held) {
	for _, h := range all {
		if h.verb == v.name {
			its = append(its, h)
		}
	}
	return its
}

// ends are the outcomes that an operation may have after the verb.
func (v verb) ends(h held) (all []outcome) {
	table := v.driven
	switch {
	case h.story.kind == operations.ServerBuild:
		table = v.built
	case h.story.kind == operations.ServerDelete:
		table = v.deleted
	case v.passed != nil && v.passes(h):
		table = v.passed
	case h.story.moved:
		table = v.moved
	}
	rows, ok := table[h.phase()]
	if !ok {
		rows = table[always]
	}
	switch {
	case v.hostless == nil:
	case h.needsHost():
		rows = v.hostless
	case h.story.waits && h.phase() == beyond: // hypervisors decide once more
		rows = table[crossing]
	}
	for _, o := range rows {
		switch {
		case o.status == asBefore && o.result == operations.ResultFailed && h.story.broken:
			o.status = "ERROR"
			if h.phase() == unbegun { // nobody has worked on it
				all = append(all, outcome{h.story.before, o.result})
			}
		case o.status == asLeft:
			o.status = h.story.stuck
		case o.status == asBefore:
			o.status = h.story.before
		case o.status == asAfter:
			o.status = h.story.after
		}
		all = append(all, o)
	}
	if v.again && h.story.short {
		all = append(all, outcome{h.story.after, operations.ResultDone})
	}
	return all
}

// check waits for the end of each operation and looks at what it has left.
func (v verb) check(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		op := finished(t, c, h.op.ID)
		status, err := v.end(c, h, op)
		if err != nil {
			t.Errorf("%s: %v", h, err)
			continue
		}
		if got, want := c.Guests()[h.server], guestsOf[h.stands(status, op.Result)]; got != want {
			t.Errorf("%s: server %s has %d guests, want %d", h, h.server, got, want)
		}
		if err := c.Await(time.Minute, func(ctx context.Context) error { return trueState(ctx, c, h.server, v.adrift) }); err != nil {
			t.Errorf("%s: %v", h, err)
		}
		if shown, err := c.Show(t.Context(), h.server); status == "ERROR" && !h.said(v) && (err != nil || shown.Fault == nil || shown.Fault.Message == "") {
			t.Errorf("%s: server %s is shown as %+v, %v; want a fault", h, h.server, shown, err)
		}
	}
}

// end waits for the server to come to a status that goes with how the operation
// has ended.
func (v verb) end(c *cloud.Cloud, h held, op engine.Operation) (status string, err error) {
	want := v.ends(h)
	may := slices.DeleteFunc(slices.Clone(want), func(o outcome) bool { return o.result != op.Result })
	if len(may) == 0 {
		return "", fmt.Errorf("it has ended as %q (%s), want one of %v", op.Result, op.Message, want)
	}
	err = c.Await(time.Minute, func(ctx context.Context) (err error) {
		for _, o := range may {
			if err = c.Is(ctx, h.server, o.status); err == nil {
				status = o.status
				return nil
			}
		}
		return err
	})
	return status, err
}

// powerOf is the power state that a guest has under each status in which its
// server stays (contracts: status-map.json).
var powerOf = map[string]int{"ACTIVE": 1, "PAUSED": 3, "SHUTOFF": 4, "SUSPENDED": 4, "VERIFY_RESIZE": 1, "RESCUE": 1, "SHELVED": 4, "SOFT_DELETED": 4}

// guestsOf is how many guests hosts have of a server by its status: a resize that
// is not confirmed keeps what it was where it was, and one that has left its host,
// is gone or was never made has none.
var guestsOf = map[string]int{"ACTIVE": 1, "PAUSED": 1, "SHUTOFF": 1, "SUSPENDED": 1, "VERIFY_RESIZE": 2, "RESCUE": 1, "SHELVED": 1, "SOFT_DELETED": 1,
	"SHELVED_OFFLOADED": 0, "ERROR": 0, "": 0}

// stands is the status that goes with what there is of a server once the operation has
// ended so: one in ERROR has what it had before the operation or has after it. If a move
// waited to be confirmed there, who said that it is in ERROR has confirmed it.
func (h held) stands(status string, result operations.Result) string {
	if status != "ERROR" {
		return status
	}
	stands := h.story.before
	if result == operations.ResultDone && h.story.after != "ERROR" {
		stands = h.story.after
	}
	if stands == "VERIFY_RESIZE" {
		return "ACTIVE"
	}
	return stands
}

// said says that the server is in ERROR because an administrator has said so.
func (h held) said(v verb) bool { return v.says != "" || h.story.kind == operations.ServerResetState }

// trueState is nil if the server is in a state in which it can stay and its
// guest is in fact as its power state and its status say; adrift leaves the
// status out.
func trueState(ctx context.Context, c *cloud.Cloud, server string, adrift bool) error {
	shown, err := c.Show(ctx, server)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	guests, stays := guestsOf[shown.Status]
	if shown.Task != "" || !stays {
		return fmt.Errorf("server %s is left in %s, task %q", server, shown.Status, shown.Task)
	}
	if guests == 0 {
		return nil
	}
	want := powerOf[shown.Status]
	guest, err := c.Guest(server)
	if err == nil && (shown.Power != guest.Power || guest.Power != want && !adrift) {
		err = fmt.Errorf("server %s is shown as %s with power state %d, its guest's is %d", server, shown.Status, shown.Power, guest.Power)
	}
	return err
}

func cancelByCommand(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	args := []string{"operations", "cancel"}
	for _, h := range all {
		args = append(args, h.op.ID)
	}
	c.CLI(args...)
}

func cancelInTemporal(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		if err := c.Temporal.CancelWorkflow(t.Context(), h.op.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
}

func terminate(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		if err := c.Temporal.TerminateWorkflow(t.Context(), h.op.ID, "", "chaos"); err != nil {
			t.Fatal(err)
		}
	}
}

func signal(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		for _, name := range []string{"stray", "knock"} {
			if err := c.Temporal.SignalWorkflow(t.Context(), h.op.ID, "", name, map[string]string{"what": "nobody knows"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func deleteByUser(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		err := h.story.remove(t.Context(), c, h.server)
		if h.story.kind == operations.ServerDelete && h.phase() == over && isGone(err) {
			continue // it is gone already
		}
		if err != nil {
			t.Fatalf("delete of %s: %v", h, err)
		}
	}
}

// resetState has an administrator say that servers are in ERROR.
func resetState(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		err := sayError(t.Context(), c, h.server)
		if h.story.kind == operations.ServerDelete && h.phase() == over && isGone(err) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", h, err)
		}
	}
}

func sayError(ctx context.Context, c *cloud.Cloud, server string) error {
	return action{name: "os-resetState", body: map[string]string{"state": "error"}, byAdmin: true}.ask(ctx, c, server)
}

// shared says whether others may work on the server beside the operation.
func shared(h held) bool {
	spec, _ := operations.Lookup(h.story.kind)
	return !spec.Exclusive
}

// isGone says whether an answer is that there is no such server.
func isGone(err error) bool {
	var refused *cloud.StatusError
	return errors.As(err, &refused) && refused.Code == http.StatusNotFound
}

func everything(held) bool { return true }

func refusesHardReboot(h held) bool {
	return operations.Meet(h.story.kind, operations.ServerHardReboot) == operations.Refuse
}

// hardReboot takes over from most operations on power, and is refused by others.
func hardReboot(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		err := ask(t.Context(), c, operations.ServerHardReboot, h.server)
		var refused *cloud.StatusError
		want := 0
		switch {
		case h.phase() == over && h.story.kind == operations.ServerDelete:
			want = http.StatusNotFound
		case h.phase() != over && refusesHardReboot(h):
			want = http.StatusConflict
		}
		got := 0
		if errors.As(err, &refused) {
			got, err = refused.Code, nil
		}
		if err != nil || got != want {
			t.Errorf("%s: it is answered %d, %v; want %d (0 for accepted)", h, got, err, want)
		}
	}
}

// resetTo resets workflows to one of the tasks that they have completed.
func resetTo(choose func(tasks []int64) int64) func(*testing.T, *cloud.Cloud, []held) {
	return func(t *testing.T, c *cloud.Cloud, all []held) {
		t.Helper()
		_, namespace := c.TemporalAddress()
		for _, h := range all {
			var tasks []int64
			c.Eventually(h.String()+" has completed a task", patience, func(ctx context.Context) (err error) {
				if tasks, err = completedTasks(ctx, c, h.op.ID); err == nil && len(tasks) == 0 {
					err = errors.New("it has not")
				}
				return err
			})
			_, err := c.Temporal.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
				Namespace:                 namespace,
				WorkflowExecution:         &common.WorkflowExecution{WorkflowId: h.op.ID},
				Reason:                    "chaos",
				RequestId:                 uuid.NewString(),
				WorkflowTaskFinishEventId: choose(tasks),
			})
			if err != nil {
				t.Fatalf("%s: %v", h, err)
			}
		}
	}
}

func completedTasks(ctx context.Context, c *cloud.Cloud, id string) (tasks []int64, err error) {
	events := c.Temporal.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = append(tasks, event.GetEventId())
		}
	}
	return tasks, nil
}
