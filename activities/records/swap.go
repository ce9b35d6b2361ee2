package records

// The row of a volume that another one takes the place of.

import (
	"context"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// ReplaceVolume is idempotent by the row: one that has been replaced stays. Errors:
// Superseded.
func (a *Activities) ReplaceVolume(ctx context.Context, in steps.ReplaceVolumeIn) (struct{}, error) {
	return struct{}{}, a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := a.engine.CheckFence(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		return compute.ReplaceVolume(ctx, tx, op.ResourceID, in.NewVolumeID)
	})
}
