// Package maintenance carries out the steps of family maintenance: power states
// that hosts report, and what has grown old. It touches the database only; the
// stops that it asks for are operations like any other's.
package maintenance

import (
	"context"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/orchestration"
)

// Options of the steps.
type Options struct {
	// Offer has an accepted operation started; it must not block.
	Offer func(operationID string)
	// DownAfter is the silence after which a host counts as down.
	DownAfter time.Duration
	// KeepServers is how long deleted servers and stacks are kept, with their operations,
	// KeepOperations how long finished operations of living ones; 0 for ever.
	KeepServers, KeepOperations time.Duration
	// ReclaimAfter is how long soft-deleted servers can be restored; 0 for ever.
	ReclaimAfter time.Duration
	// OffloadAfter is how long shelved servers stay on their hosts; 0 or less for
	// ever.
	OffloadAfter time.Duration
	// ConfirmAfter is how long resized servers wait to be confirmed; 0 for ever.
	ConfirmAfter time.Duration
}

// Activities implements steps.MaintenanceActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	o      Options
}

var _ steps.MaintenanceActivities = (*Activities)(nil)

// New gives the steps.
func New(db *store.DB, e *engine.Engine, o Options) *Activities { return &Activities{db, e, o} }

// purgeBatch bounds one part.
const purgeBatch = 500

// SyncPower is idempotent by observing. A server that an operation has is left
// to it, and so is one whose row is younger than its host's report.
func (a *Activities) SyncPower(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) (err error) {
		out.Changed, err = compute.SyncPower(ctx, tx, a.o.DownAfter)
		return err
	})
	if err != nil {
		return out, err
	}
	ids, err := compute.OutOfStep(ctx, a.db.Pool, maxDue)
	if err != nil {
		return out, err
	}
	stopped, err := a.all(ctx, ids, dueStop)
	out.More = stopped.More
	return out, err
}

// maxNodePages bounds a round of nodes' power.
const maxNodePages = 2000

// NodePages is idempotent: it only reads.
func (a *Activities) NodePages(ctx context.Context, in steps.NodePagesIn) (out steps.NodePagesOut, err error) {
	pages, err := baremetal.NodePages(ctx, a.db.Pool, in.Recovers, steps.NodePageSize, maxNodePages)
	for _, p := range pages {
		out.Pages = append(out.Pages, steps.NodePage(p))
	}
	return out, err
}

// Purge is idempotent: what is gone is gone.
func (a *Activities) Purge(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		gone, err := compute.PurgeServers(ctx, tx, a.o.KeepServers, purgeBatch)
		if err != nil {
			return err
		}
		stacks, err := orchestration.PurgeStacks(ctx, tx, a.o.KeepServers, purgeBatch)
		if err != nil {
			return err
		}
		old, err := a.engine.Purge(ctx, tx, a.o.KeepServers, a.o.KeepOperations, purgeBatch)
		out = steps.MaintenanceOut{Changed: gone + stacks + old, More: gone+stacks+old > 0}
		return err
	})
	return out, err
}
