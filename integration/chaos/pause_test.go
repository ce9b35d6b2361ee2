package chaos

// An operator pauses workflows, and lets them go on.

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/engine"
)

// A paused operation is shown as held and goes no further; it is neither given
// up nor recovered. What is asked of its server meanwhile waits with it, and
// everything goes on when it is let.
func TestPause(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{Services: true})
	builds := build.only("build.start").hang(t, c, "pause", "pause and delete")
	deletes := deletion.only("destroy.stop").hang(t, c, "pause")
	all := append(builds, deletes...)
	for _, s := range powers {
		all = append(all, s.only("power."+s.verb).hang(t, c, "pause")...)
	}
	swaps := swapping.only("swap.copy").hang(t, c, "pause")
	all = append(all, swaps...)
	_, namespace := c.TemporalAddress()
	for _, h := range all {
		_, err := c.Temporal.WorkflowService().PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
			Namespace: namespace, WorkflowId: h.op.ID, Reason: "chaos", RequestId: uuid.NewString(),
		})
		if err != nil {
			t.Fatalf("%s: %v", h, err)
		}
	}
	must(t, c.Delete(t.Context(), builds[1].server))
	for _, h := range all {
		must(t, c.Points.Release(h.server))
	}
	for _, h := range all {
		c.Eventually(h.String()+" is shown as held", patience, func(ctx context.Context) error {
			op, err := c.Engine.Get(ctx, c.DB.Pool, h.op.ID)
			if err == nil && op.State() != engine.Held {
				err = fmt.Errorf("it is %s", op.State())
			}
			return err
		})
	}
	for _, h := range all {
		_, err := c.Temporal.WorkflowService().UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
			Namespace: namespace, WorkflowId: h.op.ID, Reason: "chaos", RequestId: uuid.NewString(),
		})
		if err != nil {
			t.Fatalf("%s: %v", h, err)
		}
	}
	allAre(t, c, []string{builds[1].server, deletes[0].server}, "", patience)
	left := []string{builds[0].server}
	allAre(t, c, left, "ACTIVE", patience)
	for _, h := range all[len(builds)+len(deletes):] {
		allAre(t, c, []string{h.server}, h.story.after, patience)
		left = append(left, h.server)
	}
	for _, h := range all {
		finished(t, c, h.op.ID)
	}
	checkVolumes(t, c, swaps)
	c.Audit()
	once(t, c, left)
}
