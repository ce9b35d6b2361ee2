package placement

// Claims of a server that moves: room where it goes to for itself, and what it
// has where it is for its migration.

import (
	"context"
	"slices"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// ClaimMove is idempotent by the ledger, as Claim is: the new claim, the old
// one's handover, both lines and the migration's aim are one transaction.
// Errors: NoCapacity (code NoValidHost), Conflict, Unavailable, Superseded.
func (a *Activities) ClaimMove(ctx context.Context, in steps.MoveClaimIn) (steps.ClaimOut, error) {
	return a.tries(ctx, in.Exclude, func(tx store.Tx, since time.Time, exclude []string) (steps.ClaimOut, *compute.Claim, error) {
		in.Exclude = exclude
		return a.claimMoveIn(ctx, tx, in, since)
	})
}

// claimMoveIn is ClaimMove's transaction. Taken is nil if the attempt had its claim.
func (a *Activities) claimMoveIn(ctx context.Context, tx store.Tx, in steps.MoveClaimIn, since time.Time) (out steps.ClaimOut, taken *compute.Claim, err error) {
	op, ledger, had, err := a.claimed(ctx, tx, in.Fence, in.Attempt)
	if err != nil || had != nil {
		if had != nil {
			out, err = known(ctx, tx, *had, ledger)
		}
		return out, nil, err
	}
	migration, err := compute.MigrationOf(ctx, tx, op.ID)
	if err != nil {
		return out, nil, err
	}
	server, err := compute.GetServer(ctx, tx, "", op.ResourceID)
	if err != nil {
		return out, nil, err
	}
	if migration == nil || !migration.Open || server.HostID == "" {
		return out, nil, faults.New(faults.Conflict, "MigrationNotFound", "server %s makes no move by operation %s", server.ID, op.ID)
	}
	if migration.Type == servers.LiveMigration {
		if err := a.runs(server.Host); err != nil {
			return out, nil, err
		}
	}
	if err := movable(ctx, tx, server.HostID); err != nil {
		return out, nil, err
	}
	will := migration.Resized(server, steps.NewSize)
	host, err := a.target(ctx, tx, in, since, will, ledger)
	if err == nil {
		err = movable(ctx, tx, host.ID)
	}
	if err != nil {
		return out, nil, err
	}
	for _, e := range []operations.Effect{
		{Kind: operations.EffectHandover, Ref: migration.UUID, Host: server.HostID},
		{Kind: operations.EffectClaim, Ref: server.ID, Host: host.ID},
	} {
		e.Attempt, e.State = in.Attempt, operations.Done
		if ledger, err = op.Intend(ctx, tx, e); err != nil {
			return out, nil, err
		}
	}
	status := servers.MigrationPreMigrating
	if migration.Type == servers.LiveMigration {
		status = servers.MigrationQueued
	}
	if err := compute.AimMigration(ctx, tx, op.ID, host.ID, status); err != nil {
		return out, nil, err
	}
	if err := compute.HandOver(ctx, tx, server.ID, migration.UUID, server.HostID); err != nil {
		return out, nil, err
	}
	// The claim locks the host's row, so it comes last.
	taken, err = a.take(ctx, tx, will, host.ID, op.ID)
	return steps.ClaimOut{HostID: host.ID, HostName: host.Name, Effects: ledger}, taken, err
}

// runs refuses a host that is down: its guest may run elsewhere by now, and nobody
// is there to send it.
func (a *Activities) runs(h *compute.Host) error {
	switch {
	case h.Up(a.DownAfter):
		return nil
	case !h.ForcedDown && a.listening():
		return unheard(h.Name)
	}
	return faults.New(faults.Invalid, "ComputeServiceUnavailable", "Compute service of %s is unavailable at this time.", h.Name)
}

// movable says whether servers can leave a host, or come to one that they were not built on:
// a node is the whole of its server. Errors: Invalid (code NotSupportedByDriver).
func movable(ctx context.Context, tx store.Tx, hostID string) error {
	host, err := compute.GetHost(ctx, tx, hostID)
	if err == nil && host.Driver == compute.DriverIronic {
		err = faults.New(faults.Invalid, steps.CodeNotSupported, "Servers on nodes of the bare metal service can't be moved or resized.")
	}
	return err
}

// claimed checks the fence and looks whether the attempt has its claim.
func (a *Activities) claimed(ctx context.Context, tx store.Tx, f steps.Fence, attempt int) (op engine.Locked, ledger []operations.Effect, had *operations.Effect, err error) {
	if op, ledger, err = a.engine.CheckLedger(ctx, tx, f); err != nil {
		return op, nil, nil, err
	}
	return op, ledger, claimOf(ledger, attempt), nil
}

// target gives the host to go to: the one that is forced, or one that the
// scheduler lets the server run on.
func (a *Activities) target(ctx context.Context, tx store.Tx, in steps.MoveClaimIn, since time.Time, server *compute.Server, ledger []operations.Effect) (*scheduler.Host, error) {
	if in.Host != "" && !in.SameHost && server.Host != nil && in.Host == server.Host.Name {
		return nil, faults.New(faults.Conflict, "UnableToMigrateToSelf", "Unable to migrate instance (%s) to current host (%s).", server.ID, in.Host)
	}
	if in.Force && in.Host != "" {
		host, err := compute.HostByName(ctx, tx, in.Host)
		switch {
		case faults.Is(err, faults.NotFound), err == nil && slices.Contains(in.Exclude, host.ID):
			return nil, noValidHost(nil)
		case err != nil:
			return nil, err
		}
		return &scheduler.Host{ID: host.ID, Name: host.Name}, nil
	}
	// Where it was asked to be built says nothing about where it goes.
	aim := *server
	aim.Placement.Host, aim.Placement.Node = in.Host, ""
	exclude := slices.Concat(left(ledger), in.Exclude)
	if !in.SameHost {
		exclude = append(exclude, server.HostID)
	}
	return a.choose(ctx, tx, since, &aim, exclude, seed(steps.ClaimIn{Fence: in.Fence, Attempt: in.Attempt}))
}

// HandBack is idempotent by the ledger line's state and by whose the room is.
// Errors: NotFound (no such line), Superseded.
func (a *Activities) HandBack(ctx context.Context, in steps.HandBackIn) (struct{}, error) {
	return struct{}{}, a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := a.engine.CheckFence(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		ledger, err := a.engine.Effects(ctx, tx, op.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(ledger, func(e operations.Effect) bool { return e.Seq == in.Seq && e.Kind == operations.EffectHandover })
		switch {
		case i < 0:
			return faults.New(faults.NotFound, "NoSuchClaim", "operation %s has no handover in line %d of its ledger", op.ID, in.Seq)
		case !ledger[i].Open():
			return nil
		}
		return compute.HandOver(ctx, tx, ledger[i].Ref, op.ResourceID, ledger[i].Host)
	})
}
