package chaos

// What operators and users may do to an operation that is at work: every verb,
// at every point of a build and of a delete.

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// A verb is something that is done to operations that stand at their points.
type verb struct {
	name string
	do   func(t *testing.T, c *cloud.Cloud, all []held)
	// zombies says that the operations end although their steps are held: those
	// go on only afterwards, and must not change anything then. Otherwise steps
	// in the control worker are let go first, and with let those on hosts too.
	zombies, let bool
	// built is what becomes of the server that a build is about, by the point
	// that it stood at; several where either may come first.
	built func(point string) []outcome
	// deleted is the same for a delete; nil is that it is done.
	deleted func(point string) []outcome
}

// outcome is how a server ends, and how the operation that was held does.
type outcome struct {
	status string // "" for gone
	result operations.Result
}

var (
	built     = outcome{"ACTIVE", operations.ResultDone}
	kept      = outcome{"ACTIVE", operations.ResultCancelled}
	gone      = outcome{"", operations.ResultDone}
	recovered = outcome{"", operations.ResultFailed}
	cancelled = outcome{"ERROR", operations.ResultCancelled}
	lost      = outcome{"ERROR", operations.ResultFailed}
)

const (
	beforeFinish = "build:records.Finish"
	afterFinish  = "build:records.Finish.done"
)

// unlessFinished is the outcome of a build at each point before its end.
func unlessFinished(o outcome) func(string) []outcome {
	return func(point string) []outcome {
		if point == afterFinish {
			return []outcome{built}
		}
		return []outcome{o}
	}
}

var gentle = []verb{
	{name: "cancel", do: cancelByCommand, built: unlessFinished(cancelled), deleted: keptUnlessBegun},
	{name: "cancel in the UI", do: cancelInTemporal, built: func(point string) []outcome {
		if point == beforeFinish {
			return []outcome{built} // the last step is a transaction, which no cancel cuts short
		}
		return unlessFinished(cancelled)(point)
	}},
	{name: "terminate", do: terminate, zombies: true, built: unlessFinished(lost), deleted: lostUnlessFinished},
	{name: "reset to the first task", do: resetTo(func(tasks []int64) int64 { return tasks[0] }), let: true, built: resetBuild, deleted: resetDelete},
	{name: "reset to the last task", do: resetTo(func(tasks []int64) int64 { return tasks[len(tasks)-1] }), let: true, built: resetBuild, deleted: resetDelete},
	{name: "signal", do: signal, let: true, built: func(string) []outcome { return []outcome{built} }},
	{name: "delete", do: deleteByUser, built: func(point string) []outcome {
		if point == afterFinish {
			return []outcome{gone}
		}
		return []outcome{{"", operations.ResultCancelled}, {"", operations.ResultSuperseded}}
	}},
}

// A reset makes a second run, which may not go on where the first has begun. At
// the very start and at the very end it is open which of the two comes first.
func resetBuild(point string) []outcome {
	if point == build.begin || point == beforeFinish {
		return []outcome{lost, built}
	}
	return unlessFinished(lost)(point)
}

func resetDelete(point string) []outcome {
	switch point {
	case deletion.begin, "delete:placement.Release", "delete:placement.Release.done", "delete:records.Finish":
		return []outcome{recovered, gone}
	}
	return lostUnlessFinished(point)
}

func lostUnlessFinished(point string) []outcome {
	if point == "delete:records.Finish.done" {
		return []outcome{gone}
	}
	return []outcome{recovered}
}

// A delete is forward from its first step; before that a cancel ends it.
func keptUnlessBegun(point string) []outcome {
	if point == deletion.begin {
		return []outcome{kept}
	}
	return []outcome{gone}
}

// With everything alive, all verbs at all points at the same time.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for _, s := range []story{build, deletion} {
		t.Run(s.verb, func(t *testing.T) {
			t.Parallel()
			c := cloud.Start(t, cloud.Options{Hosts: 12})
			var names []string
			for _, v := range gentle {
				names = append(names, v.name)
			}
			all := s.hang(t, c, names...)
			for _, v := range gentle {
				v.do(t, c, of(v, all))
			}
			for _, v := range gentle {
				if v.zombies {
					continue
				}
				for _, h := range of(v, all) {
					if v.let || !onHost(h.point) || s.kind == operations.ServerDelete {
						must(t, c.Points.Release(h.server))
					}
				}
			}
			for _, h := range all {
				finished(t, c, h.op.ID)
			}
			for _, h := range all {
				must(t, c.Points.Release(h.server))
			}
			time.Sleep(2 * time.Second) // zombies have their try
			for _, v := range gentle {
				v.check(t, c, s, of(v, all))
			}
			c.Audit()
			clearAway(t, c, all)
		})
	}
}

// clearAway deletes what is left of the servers, and fails the test if that leaves
// anything.
func clearAway(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	var ids []string
	for _, h := range all {
		var refused *cloud.StatusError
		if err := c.Delete(t.Context(), h.server); err != nil && (!errors.As(err, &refused) || refused.Code != http.StatusNotFound) {
			t.Fatal(err)
		}
		ids = append(ids, h.server)
	}
	allAre(t, c, ids, "", time.Minute)
	c.Audit()
	once(t, c, nil)
}

// A cancel that is asked for while Temporal is down counts.
func TestCancelWithoutTemporal(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{})
	cancel := verb{name: "cancel without Temporal", built: unlessFinished(cancelled), deleted: keptUnlessBegun}
	for _, s := range []story{build, deletion} {
		all := s.hang(t, c, cancel.name)
		c.Kill(cloud.Temporal)
		cancelByCommand(t, c, all)
		for _, h := range all {
			if !onHost(h.point) || s.kind == operations.ServerDelete {
				must(t, c.Points.Release(h.server))
			}
		}
		c.Restart(cloud.Temporal)
		cancel.check(t, c, s, all)
		for _, h := range all {
			must(t, c.Points.Release(h.server))
		}
	}
	c.Audit()
}

// A cancel reaches operations whose host dies. What the host holds is owed, and
// paid when it is back.
func TestCancelWhileHostsAreDead(t *testing.T) {
	t.Parallel()
	for _, s := range []story{build, deletion} {
		t.Run(s.verb, func(t *testing.T) {
			t.Parallel()
			c := cloud.Start(t, cloud.Options{})
			cancel := verb{name: "cancel without hosts", built: unlessFinished(cancelled), deleted: keptUnlessBegun}
			all := s.hang(t, c, cancel.name)
			c.Kill(cloud.Host)
			cancelByCommand(t, c, all)
			for _, h := range all {
				must(t, c.Points.Release(h.server))
			}
			for _, h := range all {
				finished(t, c, h.op.ID)
			}
			report, err := c.Report(t.Context())
			if err != nil || len(report.Findings) > 0 || report.Unfinished > 0 || report.Owed == 0 {
				t.Errorf("with the hosts dead the audit says %+v, %v; want debts and nothing else", report, err)
			}
			c.Restart(cloud.Host)
			c.AwaitHosts()
			c.Audit()
			cancel.check(t, c, s, all)
			clearAway(t, c, all)
		})
	}
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

// check waits for the end of each operation and looks at what it has left.
func (v verb) check(t *testing.T, c *cloud.Cloud, s story, all []held) {
	t.Helper()
	for _, h := range all {
		op := finished(t, c, h.op.ID)
		want := []outcome{gone}
		switch {
		case s.kind == operations.ServerBuild:
			want = v.built(h.point)
		case v.deleted != nil:
			want = v.deleted(h.point)
		}
		i := slices.IndexFunc(want, func(o outcome) bool { return o.result == op.Result })
		if i < 0 {
			t.Errorf("%s: the %s has ended as %q (%s), want one of %v", h, s.verb, op.Result, op.Message, want)
			continue
		}
		status, guests := want[i].status, 0
		if status == "ACTIVE" {
			guests = 1
		}
		if err := c.Await(time.Minute, func(ctx context.Context) error { return c.Is(ctx, h.server, status) }); err != nil {
			t.Errorf("%s: %v", h, err)
			continue
		}
		if got := c.Guests()[h.server]; got != guests {
			t.Errorf("%s: server %s has %d guests, want %d", h, h.server, got, guests)
		}
		if shown, err := c.Show(t.Context(), h.server); status == "ERROR" && (err != nil || shown.Fault == nil || shown.Fault.Message == "") {
			t.Errorf("%s: server %s is shown as %+v, %v; want a fault", h, h.server, shown, err)
		}
	}
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
		err := c.Delete(t.Context(), h.server)
		var refused *cloud.StatusError
		if h.point == "delete:records.Finish.done" && errors.As(err, &refused) && refused.Code == http.StatusNotFound {
			continue // it is gone already
		}
		if err != nil {
			t.Fatalf("delete of %s: %v", h, err)
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
			c.Eventually(h.String()+" has completed a task", time.Minute, func(ctx context.Context) (err error) {
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
