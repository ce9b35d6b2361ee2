package baremetal

// Leases of nodes' BMCs, and notes of what was sent to them.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// TakeLease gives a holder the node's BMC for a time, or says that somebody else
// has it. Taken again by its holder it lasts on.
func TakeLease(ctx context.Context, q store.Queryer, nodeUUID, holder string, last time.Duration) (taken bool, err error) {
	err = q.QueryRow(ctx, `INSERT INTO baremetal.leases AS l (node_uuid, holder, until) VALUES ($1, $2, now() + $3::interval)
		ON CONFLICT (node_uuid) DO UPDATE SET holder = $2, until = now() + $3::interval WHERE l.until < now() OR l.holder = $2
		RETURNING true`, nodeUUID, holder, last).Scan(&taken)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return taken, store.Translate(err)
}

// AwaitLease is TakeLease that waits for whoever has it, for no longer than a lease
// lasts. Errors: Unavailable.
func AwaitLease(ctx context.Context, q store.Queryer, nodeUUID, holder string, last, poll time.Duration) error {
	for deadline := time.Now().Add(last + time.Second); ; {
		taken, err := TakeLease(ctx, q, nodeUUID, holder, last)
		if taken || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return faults.New(faults.Unavailable, "BMCLeased", "another step is at the node's BMC")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// KeepLease has a lease last on; one that was lost to another is a fault.
func KeepLease(ctx context.Context, q store.Queryer, nodeUUID, holder string, last time.Duration) error {
	var kept bool
	err := q.QueryRow(ctx, `UPDATE baremetal.leases SET until = now() + $3::interval
		WHERE node_uuid = $1 AND holder = $2 RETURNING true`, nodeUUID, holder, last).Scan(&kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return faults.New(faults.Unavailable, "LeaseLost", "another conductor is at the BMC of node %s", nodeUUID)
	}
	return store.Translate(err)
}

// EndLease lets go of a node's BMC; one that has gone to another stays there.
func EndLease(ctx context.Context, tx store.Tx, nodeUUID, holder string) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.leases WHERE node_uuid = $1 AND holder = $2`, nodeUUID, holder)
	return store.Translate(err)
}

// Act is something that an operation has sent to a BMC, or was about to.
type Act struct {
	Name   string
	SentAt time.Time
	// Age is how long ago that was, by the database's clock.
	Age time.Duration
	// Answered says that the BMC has accepted it.
	Answered bool
	// About is what a ramdisk was told it as; empty for a BMC.
	About string
}

// Acts are what an operation has noted, by name.
func Acts(ctx context.Context, q store.Queryer, operationID string) (map[string]Act, error) {
	rows, err := q.Query(ctx, `SELECT name, sent_at, clock_timestamp() - sent_at, answered, about FROM baremetal.acts WHERE operation_id = $1`, operationID)
	if err != nil {
		return nil, fmt.Errorf("acts of %s: %w", operationID, store.Translate(err))
	}
	acts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Act])
	if err != nil {
		return nil, fmt.Errorf("acts of %s: %w", operationID, store.Translate(err))
	}
	all := make(map[string]Act, len(acts))
	for _, a := range acts {
		all[a.Name] = a
	}
	return all, nil
}

// NoteAct notes, before it is sent, that an operation sends something. Sent again
// it keeps the time of the first.
func NoteAct(ctx context.Context, tx store.Tx, operationID, name, about string) error {
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.acts (operation_id, name, about, sent_at) VALUES ($1, $2, $3, clock_timestamp())
		ON CONFLICT (operation_id, name) DO UPDATE SET answered = false, about = $3`, operationID, name, about)
	if err != nil {
		return fmt.Errorf("note %s of %s: %w", name, operationID, store.Translate(err))
	}
	return nil
}

// AnswerAct notes that the BMC has accepted it.
func AnswerAct(ctx context.Context, tx store.Tx, operationID, name string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.acts SET answered = true WHERE operation_id = $1 AND name = $2`, operationID, name)
	if err != nil {
		return fmt.Errorf("note the answer to %s of %s: %w", name, operationID, store.Translate(err))
	}
	return nil
}
