package libvirt

// Live migration: what a driver does for it.

import (
	"context"

	"holdfast.dev/internal/steps"
)

// Migrator is the part of a driver that moves running guests between hosts.
type Migrator interface {
	// Depart says what another host has to know to take the guest in. Errors:
	// Conflict, the guest does not run or can't leave its host.
	Depart(ctx context.Context, serverID string) (steps.Departure, error)
	// Land makes what a guest needs that is to come here, and says where it is.
	// Errors: Conflict, the host can't run the guest.
	Land(ctx context.Context, spec steps.ServerSpec, from steps.Departure) (steps.Landing, error)
	// Migrate moves the guest and returns when it has left this host: nil, or is
	// here to stay: Conflict. One that an earlier call with the same mark has
	// begun is taken over. It calls confirm before it begins. When ctx ends it
	// aborts, and gives ctx's error unless the guest had left by then.
	Migrate(ctx context.Context, m Move, confirm Confirm) error
	// Complete forces a migration that is under way to come to its end.
	Complete(ctx context.Context, serverID string) error
	// Landed looks at a guest that was to come.
	Landed(ctx context.Context, serverID string) (steps.LandedOut, error)
}

// Move is one live migration.
type Move struct {
	ServerID string
	// Mark names what it is done for.
	Mark string
	// Only has one that is under way taken over, and none begun.
	Only bool
	// Abort ends one that is under way.
	Abort bool
	To    steps.Landing
	// Seen is told of its progress.
	Seen func(steps.MoveProgress)
}
