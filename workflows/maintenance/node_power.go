package maintenance

// Nodes' power: what their BMCs say of it is compared with their rows, and those that
// are in maintenance because of it are looked at until they answer.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/steps"
)

// NodePower brings rows and machines into step (sync_power_state_interval).
func NodePower(ctx workflow.Context) error { return round(ctx, false) }

// NodeRecovery takes nodes out of maintenance whose BMCs answer again
// (power_failure_recovery_interval).
func NodeRecovery(ctx workflow.Context) error { return round(ctx, true) }

// abreast is how many parts of a round are done at a time: whoever serves their queue
// shares them.
const abreast = 8

// round does every part, whatever becomes of the others, and gives the first error.
func round(ctx workflow.Context, recovers bool) error {
	in := steps.NodePagesIn{Recovers: recovers}
	out, err := steps.Maintenance.NodePages(ctx, in)
	if err != nil {
		return err
	}
	name := workflow.GetInfo(ctx).WorkflowExecution.RunID
	next, failed := 0, error(nil)
	group := workflow.NewWaitGroup(ctx)
	for range min(abreast, len(out.Pages)) {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			for next < len(out.Pages) && ctx.Err() == nil {
				page := out.Pages[next]
				next++
				if _, err := steps.BMC.SyncPower(ctx, steps.SyncNodesIn{NodePage: page, NodePagesIn: in, Round: name}); err != nil && failed == nil {
					failed = err
				}
			}
		})
	}
	group.Wait(ctx)
	return failed
}
