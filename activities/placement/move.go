package placement

// Claims of a server that moves while it keeps what it has where it runs.

import (
	"context"
	"errors"
	"slices"
	"time"

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
	since := time.Now().Add(-snapshotAge)
	for range tries {
		out, err := a.claimMove(ctx, in, since)
		var full *hostFull
		if !errors.As(err, &full) {
			return out, err
		}
		if in.Force {
			return steps.ClaimOut{}, noValidHost(nil)
		}
		in.Exclude = append(slices.Clone(in.Exclude), full.host)
		since = time.Now()
	}
	return steps.ClaimOut{}, faults.New(faults.Unavailable, "HostsBusy", "other claims were faster on every host")
}

func (a *Activities) claimMove(ctx context.Context, in steps.MoveClaimIn, since time.Time) (out steps.ClaimOut, err error) {
	var taken *compute.Room
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		out, taken, err = a.claimMoveIn(ctx, tx, in, since)
		return err
	})
	if err != nil {
		return steps.ClaimOut{}, err
	}
	if taken != nil {
		a.hosts.took(out.HostID, *taken)
	}
	return out, nil
}

// claimMoveIn is claimMove's transaction. Taken is nil if the attempt had its claim.
func (a *Activities) claimMoveIn(ctx context.Context, tx store.Tx, in steps.MoveClaimIn, since time.Time) (out steps.ClaimOut, taken *compute.Room, err error) {
	op, err := a.engine.CheckFence(ctx, tx, in.Fence)
	if err != nil {
		return out, nil, err
	}
	ledger, err := a.engine.Effects(ctx, tx, op.ID)
	if err != nil {
		return out, nil, err
	}
	if had := claimOf(ledger, in.Attempt); had != nil {
		out, err = known(ctx, tx, *had, ledger)
		return out, nil, err
	}
	migration, err := compute.OpenMigration(ctx, tx, op.ResourceID)
	if err != nil {
		return out, nil, err
	}
	server, err := compute.GetServer(ctx, tx, "", op.ResourceID)
	if err != nil {
		return out, nil, err
	}
	if migration == nil || migration.OperationID != op.ID || server.HostID == "" {
		return out, nil, faults.New(faults.Conflict, "MigrationNotFound", "server %s has no migration of this operation", op.ResourceID)
	}
	host, err := a.target(ctx, tx, in, since, server, ledger)
	if err != nil {
		return out, nil, err
	}
	if _, err = op.Intend(ctx, tx, operations.Effect{
		Kind: operations.EffectHandover, Ref: migration.UUID, Host: server.HostID, Attempt: in.Attempt, State: operations.Done}); err != nil {
		return out, nil, err
	}
	ledger, err = op.Intend(ctx, tx, operations.Effect{
		Kind: operations.EffectClaim, Ref: server.ID, Host: host.ID, Attempt: in.Attempt, State: operations.Done})
	if err != nil {
		return out, nil, err
	}
	if err := compute.AimMigration(ctx, tx, op.ID, host.ID, servers.MigrationQueued); err != nil {
		return out, nil, err
	}
	if err := compute.HandOver(ctx, tx, server.ID, migration.UUID, server.HostID); err != nil {
		return out, nil, err
	}
	// The claim locks the host's row, so it comes last.
	room := server.Room()
	ok, err := compute.ClaimOnHost(ctx, tx, server.ID, host.ID, in.Fence.OperationID, room)
	if err == nil && !ok {
		err = &hostFull{host.ID}
	}
	return steps.ClaimOut{HostID: host.ID, HostName: host.Name, Effects: ledger}, &room, err
}

// target gives the host to go to: the one that is forced, or one that the
// scheduler lets the server run on, never its own.
func (a *Activities) target(ctx context.Context, tx store.Tx, in steps.MoveClaimIn, since time.Time, server *compute.Server, ledger []operations.Effect) (*scheduler.Host, error) {
	if in.Host != "" && server.Host != nil && in.Host == server.Host.Name {
		return nil, faults.New(faults.Conflict, "UnableToMigrateToSelf", "Unable to migrate instance (%s) to current host (%s).", server.ID, in.Host)
	}
	if in.Force && in.Host != "" {
		hosts, err := compute.ListHosts(ctx, tx, compute.HostFilter{Name: in.Host})
		if err != nil {
			return nil, err
		}
		if len(hosts) == 0 {
			return nil, noValidHost(nil)
		}
		return &scheduler.Host{ID: hosts[0].ID, Name: hosts[0].Name}, nil
	}
	// Where it was asked to be built says nothing about where it goes.
	aim := *server
	aim.Placement.Host, aim.Placement.Node = in.Host, ""
	exclude := slices.Concat(left(ledger), in.Exclude, []string{server.HostID})
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
		for _, e := range ledger {
			if e.Seq != in.Seq || e.Kind != operations.EffectHandover {
				continue
			}
			if !e.Open() {
				return nil
			}
			return compute.HandOver(ctx, tx, e.Ref, op.ResourceID, e.Host)
		}
		return faults.New(faults.NotFound, "NoSuchClaim", "operation %s has no handover in line %d of its ledger", in.Fence.OperationID, in.Seq)
	})
}
