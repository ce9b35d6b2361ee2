package steps

// Family placement: the claims of a server that moves. Where it goes to the
// claim is its own; what it had on its old host is its migration's until the
// move is over.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// MoveClaimIn asks for room for the move that the fenced operation makes of its
// server.
type MoveClaimIn struct {
	Fence   Fence `json:"fence"`
	Attempt int   `json:"attempt"`
	// Host is the name of the one that was asked for; empty leaves the choice.
	Host string `json:"host,omitempty"`
	// Force takes Host without asking the scheduler.
	Force bool `json:"force,omitempty"`
	// SameHost lets the server stay where it is.
	SameHost bool `json:"same_host,omitempty"`
	// Exclude are hosts that have been tried and failed.
	Exclude []string `json:"exclude,omitempty"`
}

// HandBackIn makes the room that a ledger line's migration has its server's again.
type HandBackIn struct {
	Fence Fence `json:"fence"`
	Seq   int   `json:"seq"`
}

// MoveClaimActivities are those of PlacementActivities about moves.
type MoveClaimActivities interface {
	// ClaimMove is idempotent by (operation, attempt), as Claim is. Claim, handover
	// and the migration's aim are one transaction. Errors: NoCapacity (code
	// NoValidHost), Conflict (no such move), Superseded.
	ClaimMove(context.Context, MoveClaimIn) (ClaimOut, error)
	// HandBack is idempotent by the ledger line's state. Errors: Superseded.
	HandBack(context.Context, HandBackIn) (struct{}, error)
}

var (
	placementClaimMove = databaseStep("placement.ClaimMove", reading)
	placementHandBack  = localStep("placement.HandBack")
)

// ClaimMove chooses a host for a server that moves, and takes room there.
func (placementSteps) ClaimMove(ctx workflow.Context, in MoveClaimIn) (ClaimOut, error) {
	return call[ClaimOut](ctx, placementClaimMove, "", in)
}

// HandBack gives a server the room back that its migration had of it.
func (placementSteps) HandBack(ctx workflow.Context, in HandBackIn) error {
	_, err := call[struct{}](ctx, placementHandBack, "", in)
	return err
}
