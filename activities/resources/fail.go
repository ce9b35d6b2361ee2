package resources

// Fail: a resource that is given up.

import (
	"context"
	"slices"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Fail is idempotent by the row: one that has failed stays so. Errors: Superseded.
func (a *Activities) Fail(ctx context.Context, in steps.FailIn) (out steps.FailOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		j, err := a.open(ctx, tx, in.Fence, in.Phase)
		if err != nil {
			return err
		}
		if in.Phase == steps.Forget {
			out.Reason = in.Reason
			return nil
		}
		rows, err := orchestration.ResourcesWithNeeds(ctx, tx, j.stack.ID, []int64{max(in.ID, -in.ID)})
		if err != nil {
			return err
		}
		at := slices.IndexFunc(rows, func(r *orchestration.Resource) bool {
			return r.ID == -in.ID || r.ID == in.ID && r.ReplacedBy == 0 || r.Replaces == in.ID && in.ID > 0
		})
		if at < 0 {
			out.Reason = in.Reason
			return nil
		}
		r := rows[at]
		if r.Status != orchestration.Failed {
			r.DoneIn = j.traversal
			r.Status, r.Reason, r.WakeAt = orchestration.Failed, "resources."+r.Name+": "+in.Reason, nil
			if err := orchestration.PutResources(ctx, tx, rows[at:at+1]); err != nil {
				return err
			}
			if err := orchestration.InsertEvents(ctx, tx, []orchestration.Event{orchestration.EventOf(j.stack, r)}); err != nil {
				return err
			}
		}
		out.Reason = j.reasonOf(r)
		return nil
	})
	return out, err
}

// reasonOf is the failure of a resource as its stack's reason has it; a check, which
// goes on after one, names each.
func (j *job) reasonOf(r *orchestration.Resource) string {
	reason := "Resource " + r.Action + " failed: " + r.Reason
	if j.phase == steps.Check {
		return r.Name + ": " + reason
	}
	return reason
}
