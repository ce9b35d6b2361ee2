package steps

// Family records: the row of a live migration while it is under way.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// LiveMigration is the input of a live migration: what its request asked for.
type LiveMigration struct {
	// Host is the name of the one to go to; empty leaves it to the scheduler,
	// which Force doesn't ask.
	Host  string `json:"host,omitempty"`
	Force bool   `json:"force,omitempty"`
	// Block says whether disks are to be moved; nil leaves it to what there is.
	Block *bool `json:"block,omitempty"`
}

// MovingIn moves the fenced operation's migration on.
type MovingIn struct {
	Fence Fence `json:"fence"`
	// Status is one of servers.MigrationStatus; empty only looks.
	Status string `json:"status,omitempty"`
}

// MovingOut is what the row says.
type MovingOut struct {
	// Queued says that the source has as many migrations as it does at once: the
	// status was not changed.
	Queued bool `json:"queued,omitempty"`
	// Forced says that somebody asked for the migration to be forced to complete.
	Forced bool `json:"forced,omitempty"`
}

// MovingActivities are those of RecordsActivities about live migrations.
type MovingActivities interface {
	// Moving is idempotent by the status. Errors: Superseded.
	Moving(context.Context, MovingIn) (MovingOut, error)
}

var recordsMoving = localStep("records.Moving")

// Moving moves the row of a migration on, and reads what was asked of it.
func (recordsSteps) Moving(ctx workflow.Context, in MovingIn) (MovingOut, error) {
	return call[MovingOut](ctx, recordsMoving, "", in)
}
