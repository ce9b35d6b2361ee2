package libvirt

// Live migration: what a driver does for it, and its steps.

import (
	"context"
	"encoding/json"
	"sync"

	"golang.org/x/sync/semaphore"

	"holdfast.dev/internal/faults"
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
	// here to stay: Conflict; or NotFound with the code MigrationUnsettled, only the
	// other host knows. One that an earlier call with the same mark has
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
	// Stays has a guest go on that stands still because it leaves: the other host
	// has said that it has nothing of it.
	Stays bool
	To    steps.Landing
	// Seen is told of its progress.
	Seen func(steps.MoveProgress)
}

// DefaultMigrations is how many guests leave a host at once (contracts:
// quotas-and-limits.json, max_concurrent_live_migrations).
const DefaultMigrations = 1

// moves are the migrations from one host that are under way.
type moves struct {
	slots *semaphore.Weighted

	mu       sync.Mutex
	progress map[string]steps.MoveProgress
}

func newMoves() *moves {
	return &moves{slots: semaphore.NewWeighted(DefaultMigrations), progress: map[string]steps.MoveProgress{}}
}

func (m *moves) seen(serverID string, p steps.MoveProgress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress[serverID] = p
}

func (m *moves) over(serverID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.progress, serverID)
}

// Progress says how far a guest that is leaving has come, as JSON of
// steps.MoveProgress. Errors: NotFound, it isn't.
func (a *Activities) Progress(_ context.Context, serverID string) (json.RawMessage, error) {
	a.moves.mu.Lock()
	p, ok := a.moves.progress[serverID]
	a.moves.mu.Unlock()
	if !ok {
		return nil, faults.New(faults.NotFound, "MigrationNotFound", "server %s is not leaving the host", serverID)
	}
	return json.Marshal(p)
}

// Depart is idempotent: it writes a marker once and reads.
func (a *Activities) Depart(ctx context.Context, in steps.DepartIn) (steps.Departure, error) {
	var out steps.Departure
	_, err := a.guest(ctx, in.Token, actPower, func(ctx context.Context, _ Confirm) (_ Guest, err error) {
		out, err = a.driver.Depart(ctx, in.Token.ServerID)
		return Guest{}, err
	})
	return out, err
}

// Land is idempotent by the server's id: what is there already stays.
func (a *Activities) Land(ctx context.Context, in steps.LandIn) (steps.Landing, error) {
	data, err := weigh(in.Token, in.Spec)
	if err != nil {
		return steps.Landing{}, err
	}
	var out steps.Landing
	_, err = a.guest(ctx, in.Token, actBuild, func(ctx context.Context, _ Confirm) (_ Guest, err error) {
		if err := a.specs.keep(data, in.Spec.ServerID); err != nil {
			return Guest{}, err
		}
		if out, err = a.driver.Land(ctx, in.Spec, in.From); err == nil {
			err = wanted(in, out)
		}
		return Guest{}, err
	})
	return out, err
}

// wanted refuses disks that are not where the request has them (texts of
// nova.exception.InvalidLocalStorage and InvalidSharedStorage). A server whose disks are
// all volumes has none to copy, as on shared storage.
func wanted(in steps.LandIn, to steps.Landing) error {
	shared := to.Shared || len(in.Spec.LocalDisks()) == 0
	switch {
	case in.Block == nil || *in.Block != shared:
		return nil
	case shared:
		return faults.New(faults.Conflict, "InvalidLocalStorage", "%s is not on local storage: Block migration can not be used with shared storage.", in.Spec.ServerID)
	}
	return faults.New(faults.Conflict, "InvalidSharedStorage",
		"%s is not on shared storage: Shared storage live-migration requires either shared storage or boot-from-volume with no local disks.", in.Spec.ServerID)
}

// Migrate is idempotent by the operation that it is done for, kept with the
// guest: one that is under way is taken over, one that is over is not repeated, and
// one that was said to be given up doesn't begin any more, not even by an attempt
// that was on its way to the host for all the time since.
func (a *Activities) Migrate(ctx context.Context, in steps.MigrateIn) (struct{}, error) {
	id := in.Token.ServerID
	_, err := a.guest(ctx, in.Token, actPower, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.moves.slots.Acquire(ctx, 1); err != nil {
			return Guest{}, err
		}
		defer a.moves.slots.Release(1)
		defer a.moves.over(id)
		stood, err := a.fences.stands(id)
		if err != nil {
			return Guest{}, err
		}
		only := in.Only || stood.GivenUp == in.Mark
		err = a.driver.Migrate(ctx, Move{ServerID: id, Mark: in.Mark, Only: only, Abort: in.Abort, Stays: in.Stays, To: in.To,
			Seen: func(p steps.MoveProgress) { a.moves.seen(id, p) }}, confirm)
		if only && faults.Is(err, faults.Conflict) {
			if unkept := a.fences.giveUp(id, in.Mark); unkept != nil {
				return Guest{}, unkept
			}
		}
		return Guest{}, err
	})
	return struct{}{}, err
}

// ForceComplete is idempotent: a migration that is over is not touched. It doesn't
// wait for its turn, which the migration has.
func (a *Activities) ForceComplete(ctx context.Context, in steps.ForceCompleteIn) (struct{}, error) {
	stood, _, err := a.fences.condemned(in.Token.ServerID)
	if err == nil && in.Token.Older(stood) {
		err = superseded(in.Token, stood)
	}
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, a.driver.Complete(ctx, in.Token.ServerID)
}

// Landed is idempotent: it looks, and keeps what the guest is built from.
func (a *Activities) Landed(ctx context.Context, in steps.LandedIn) (steps.LandedOut, error) {
	var out steps.LandedOut
	_, err := a.guest(ctx, in.Token, actBuild, func(ctx context.Context, _ Confirm) (_ Guest, err error) {
		out, err = a.driver.Landed(ctx, in.Token.ServerID)
		return Guest{}, err
	})
	return out, err
}
