package records

// The row of a live migration while it is under way.

import (
	"context"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Moving is idempotent by the status: one that the migration has stays. Errors:
// Superseded.
func (a *Activities) Moving(ctx context.Context, in steps.MovingIn) (out steps.MovingOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		out = steps.MovingOut{}
		op, err := a.engine.CheckFence(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		switch status := servers.MigrationStatus(in.Status); status {
		case "":
		case servers.MigrationPreparing:
			begun, err := compute.BeginMove(ctx, tx, op.ID)
			if err != nil {
				return err
			}
			out.Queued = !begun
		default:
			if err := compute.SetMigrationStatus(ctx, tx, op.ResourceID, status); err != nil {
				return err
			}
		}
		out.Forced, err = compute.ForcedToComplete(ctx, tx, op.ID)
		return err
	})
	return out, err
}
