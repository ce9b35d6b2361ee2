package baremetal

// Leases: who is at a node's BMC, or at its ramdisk.

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Lease is one step's time with a node: while it lasts, no other is at the node's BMC
// or ramdisk. It lasts for longer than one request to them, so that whoever takes one
// over that has ended knows that nothing of its last holder is under way.
type Lease struct {
	db     *store.DB
	node   string
	holder string
	last   time.Duration
}

// AwaitLease takes the lease of a node, and waits for whoever has it, for no longer
// than one lasts; poll is the time between two tries. Errors: Unavailable.
func AwaitLease(ctx context.Context, db *store.DB, nodeUUID string, last, poll time.Duration) (*Lease, error) {
	l := &Lease{db: db, node: nodeUUID, holder: uuid.NewString(), last: last}
	for deadline := time.Now().Add(last + time.Second); ; {
		taken, err := l.take(ctx)
		if err != nil {
			return nil, err
		}
		if taken {
			return l, nil
		}
		if time.Now().After(deadline) {
			return nil, faults.New(faults.Unavailable, "BMCLeased", "another step is at the node's BMC")
		}
		if err := wait(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// take takes the lease, unless somebody else has it.
func (l *Lease) take(ctx context.Context) (taken bool, err error) {
	err = l.db.Pool.QueryRow(ctx, `INSERT INTO baremetal.leases AS l (node_uuid, holder, until) VALUES ($1, $2, now() + $3::interval)
		ON CONFLICT (node_uuid) DO UPDATE SET holder = $2, until = now() + $3::interval WHERE l.until < now() OR l.holder = $2
		RETURNING true`, l.node, l.holder, l.last).Scan(&taken)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return taken, store.Translate(err)
}

// Keep has the lease last on. Errors: Unavailable, it was lost to another.
func (l *Lease) Keep(ctx context.Context) error { return l.keep(ctx, l.db.Pool) }

func (l *Lease) keep(ctx context.Context, q store.Queryer) error {
	var kept bool
	err := q.QueryRow(ctx, `UPDATE baremetal.leases SET until = now() + $3::interval
		WHERE node_uuid = $1 AND holder = $2 RETURNING true`, l.node, l.holder, l.last).Scan(&kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return faults.New(faults.Unavailable, "LeaseLost", "another conductor is at the BMC of node %s", l.node)
	}
	return store.Translate(err)
}

// Wait lets a while pass, and has the lease last on. Errors: ctx's, as Keep.
func (l *Lease) Wait(ctx context.Context, d time.Duration) error {
	if err := wait(ctx, d); err != nil {
		return err
	}
	return l.Keep(ctx)
}

// Write changes the database if the fenced operation still has the node and the lease
// is still held, which lasts on from then. Errors: Superseded, Unavailable.
func (l *Lease) Write(ctx context.Context, e *engine.Engine, fence steps.Fence, change func(store.Tx) error) error {
	return l.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := e.CheckFence(ctx, tx, fence); err != nil {
			return err
		}
		if err := l.keep(ctx, tx); err != nil {
			return err
		}
		return change(tx)
	})
}

// End lets go of the node, also when ctx has ended: one that has gone to another stays
// there, and one that can't be let go of ends by itself.
func (l *Lease) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = l.db.Pool.Exec(ctx, `DELETE FROM baremetal.leases WHERE node_uuid = $1 AND holder = $2`, l.node, l.holder)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
