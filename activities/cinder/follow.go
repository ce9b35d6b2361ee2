package cinder

// Volumes that go from one host to another with their server.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
)

// Move is idempotent by what is true afterwards: each volume has one attachment,
// the host's. Done again it makes that anew.
func (a *Activities) Move(ctx context.Context, in steps.FollowIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, t.follow(ctx, in.HostID, t.note)
}

// Follow is idempotent as Move is, which it does for a guest that has gone already.
func (a *Activities) Follow(ctx context.Context, in steps.FollowIn) (struct{}, error) {
	out, err := a.Move(ctx, in)
	return out, refuses(err)
}

// follow gives each volume an attachment to the host before it deletes the others.
func (t *task) follow(ctx context.Context, hostID string, write note) error {
	connector, err := t.a.connector(ctx, hostID)
	if err != nil {
		return err
	}
	return t.renew(ctx, write, func(at *attachment) error {
		if err := t.connect(ctx, at, connector); err != nil {
			return err
		}
		return t.complete(ctx, at)
	})
}

// PayFollow does what Move or Follow could not while Cinder was down: the volumes
// go to the host that the server is on. It is idempotent as they are, and waits
// while an operation has the server. One that is deleted or on no host has them on
// none: then nothing is owed any more. Errors: Unavailable.
func (a *Activities) PayFollow(ctx context.Context, d engine.Debt) error {
	return a.payVolumes(ctx, d,
		func(s *compute.Server) bool { return s.DeletedAt == nil && s.HostID != "" },
		(*compute.Server).Idle,
		func(ctx context.Context, t *task, write note) error { return t.follow(ctx, t.server.HostID, write) })
}
