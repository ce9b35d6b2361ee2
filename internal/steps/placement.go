package steps

// Family placement: choosing a host and taking or giving back room on it. The
// allocations are in Holdfast's own database, so both steps are local.

import (
	"context"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
)

// ClaimIn asks for room for the fenced operation's server.
type ClaimIn struct {
	Fence   Fence `json:"fence"`
	Attempt int   `json:"attempt"`
	// Exclude are hosts that have been tried and failed.
	Exclude []string `json:"exclude,omitempty"`
	// Destination stands in place of the host that the server's request named,
	// and of its zone; nil is as the request has it.
	Destination *Destination `json:"destination,omitempty"`
}

// Destination is where a server is to run that ran before.
type Destination struct {
	// Host is a name; empty is any.
	Host string `json:"host,omitempty"`
	// Zone is an availability zone, a pointer to "" any; nil is the server's own.
	Zone *string `json:"zone,omitempty"`
}

// ClaimOut is the chosen host and the ledger with the claim in it, written in
// the transaction that made the claim.
type ClaimOut struct {
	HostID   string              `json:"host_id"`
	HostName string              `json:"host_name"`
	Effects  []operations.Effect `json:"effects"`
}

// ReleaseIn gives back the room that a ledger line took.
type ReleaseIn struct {
	Fence Fence `json:"fence"`
	Seq   int   `json:"seq"`
	// Failed: the host has failed what the room was for.
	Failed bool `json:"failed,omitempty"`
}

// PlacementActivities is implemented by activities/placement.
type PlacementActivities interface {
	MoveClaimActivities
	// Claim is idempotent by (consumer, attempt): repeated, it gives the host
	// that it gave before. Errors: NoCapacity (code NoValidHost), Superseded.
	Claim(context.Context, ClaimIn) (ClaimOut, error)
	// Release is idempotent by the ledger line's state. Errors: Superseded.
	Release(context.Context, ReleaseIn) (struct{}, error)
	MoveClaimActivities
}

// Placement is the family's caller.
var Placement placementSteps

type placementSteps struct{}

var (
	placementClaim   = databaseStep("placement.Claim", reading)
	placementRelease = localStep("placement.Release")
)

// Claim chooses a host and takes room on it.
func (placementSteps) Claim(ctx workflow.Context, in ClaimIn) (ClaimOut, error) {
	return call[ClaimOut](ctx, placementClaim, "", in)
}

// Release gives room back.
func (placementSteps) Release(ctx workflow.Context, in ReleaseIn) error {
	_, err := call[struct{}](ctx, placementRelease, "", in)
	return err
}
