package steps

// Family records: the row of a volume that another one takes the place of.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// ReplaceVolumeIn has the new volume be the one of the fenced operation's server.
type ReplaceVolumeIn struct {
	Fence       Fence  `json:"fence"`
	NewVolumeID string `json:"new_volume_id"`
}

// SwapActivities are those of RecordsActivities about swaps.
type SwapActivities interface {
	// ReplaceVolume: one that has been replaced already is success. Errors: Superseded.
	ReplaceVolume(context.Context, ReplaceVolumeIn) (struct{}, error)
}

var recordsReplaceVolume = localStep("records.ReplaceVolume")

// ReplaceVolume writes that the guest has the new volume: whoever starts it anew
// gives it that one.
func (recordsSteps) ReplaceVolume(ctx workflow.Context, in ReplaceVolumeIn) error {
	_, err := call[struct{}](ctx, recordsReplaceVolume, "", in)
	return err
}
