package engine_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// start runs a starter until the test ends.
func (c *cloud) start(s *engine.Starter) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { s.Run(ctx) })
	c.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

func TestStarter(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	s := c.e.NewStarter(c.client, queue, 10, 2)
	c.start(s)

	id := c.newThing()
	op := c.accept(operations.ServerStart, id).OperationID
	waiting := c.accept(operations.ServerStart, c.newThing()).OperationID
	c.exec(`UPDATE engine.operations SET start_after = NULL WHERE id = $1`, waiting)
	s.Offer("server/nothing/of/thesort")
	s.Offer(waiting)
	s.Offer(op)
	s.Offer(op)
	c.until(op, engine.Running, operations.StepGuest)
	if got := c.status(waiting); got != enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		t.Errorf("one that waits is %s", got)
	}
	c.exec(`UPDATE engine.operations SET start_after = now() WHERE id = $1`, waiting)

	described := must(c.client.DescribeWorkflow(t.Context(), op, ""))(t)
	if got := described.WorkflowExecutionMetadata; got.TaskQueueName != queue || got.WorkflowType.Name != "server.start" {
		t.Errorf("the workflow is %+v", got)
	}
	if summary, err := described.GetStaticSummary(); err != nil || summary != "start server "+id {
		t.Errorf("its summary is %q, %v", summary, err)
	}
	query := "Kind = 'server.start' AND ProjectId = 'p1' AND ResourceId = '" + id + "' AND RequestId = 'req-1'"
	c.eventually(query, func() bool {
		list := must(c.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query}))(t)
		return len(list.GetExecutions()) == 1
	})
	s.Knock(op)
	s.Knock("server/nothing/of/thesort")
	c.eventually("the workflow is knocked at", func() bool { return len(c.knocks(op)) == 1 })
	c.say(op, "go")
	c.until(op, engine.State(operations.ResultDone), "")
	c.eventually("the workflow is completed", func() bool { return c.status(op) == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED })
	if n := len(c.knocks(op)); n != 1 {
		t.Errorf("%d knocks, want 1", n)
	}
}

// knocks are those at an operation's workflow.
func (c *cloud) knocks(op string) (all []steps.Knocked) {
	c.t.Helper()
	history := c.client.GetWorkflowHistory(c.t.Context(), op, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		signal := must(history.Next())(c.t).GetWorkflowExecutionSignaledEventAttributes()
		if signal.GetSignalName() != steps.Knock {
			continue
		}
		var k steps.Knocked
		if err := converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &k); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

// Knocks that come while the workflow can't be knocked at go together, and one that is
// for everything leaves out what alone others are for.
func TestKnocksGoTogether(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		knock func(s *engine.Starter, op string)
		want  []int64
	}{
		"of two nodes":  {func(s *engine.Starter, op string) { s.KnockAt(op, 3); s.KnockAt(op, -5) }, []int64{3, -5}},
		"of everything": {func(s *engine.Starter, op string) { s.KnockAt(op, 3); s.Knock(op); s.KnockAt(op, 4) }, nil},
		"of many nodes": {func(s *engine.Starter, op string) {
			for node := range int64(1001) {
				s.KnockAt(op, node+1)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			op := c.accept(operations.ServerStart, c.newThing()).OperationID
			s := c.e.NewStarter(c.client, queue, 2, 1)
			s.Offer(op)
			test.knock(s, op)
			c.start(s)
			c.eventually("the workflow runs", func() bool { return c.status(op) == enums.WORKFLOW_EXECUTION_STATUS_RUNNING })
			var got []steps.Knocked
			c.eventually("the workflow is knocked at", func() bool {
				got = c.knocks(op)
				return len(got) > 0
			})
			s.KnockAt(op, 6)
			c.eventually("the workflow is knocked at again", func() bool {
				got = c.knocks(op)
				return len(got) > 1
			})
			if want := []steps.Knocked{{Nodes: test.want}, {Nodes: []int64{6}}}; !reflect.DeepEqual(got, want) {
				t.Errorf("knocks %v, want %v", got, want)
			}
		})
	}
}

// A starter that is full, or whose Temporal is down, keeps nobody waiting.
func TestOfferNeverBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := newCloudOn(t, w, "127.0.0.1:1", "nowhere")
	s := w.e.NewStarter(c.client, queue, 1, 1)
	done := make(chan struct{})
	go func() {
		for range 1000 {
			s.Offer("server/nothing/of/thesort")
			s.Knock("server/nothing/of/thesort")
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patient):
		t.Fatal("an offer blocks")
	}
	c.start(s)
}
