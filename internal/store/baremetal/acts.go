package baremetal

// Acts: notes of what was sent to nodes' BMCs and ramdisks.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// Act is something that an operation has sent to a BMC, or was about to.
type Act struct {
	Name string
	// SentAt is when it was first about to be sent, of one that is answered when it was.
	SentAt time.Time
	// Age is how long ago that was, by the database's clock.
	Age time.Duration
	// Answered says that the BMC has accepted it.
	Answered bool
	// About is what a ramdisk was told it as, or what a BMC has said to it.
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

// AnswerAct notes that the BMC has accepted it, which is when it was sent.
func AnswerAct(ctx context.Context, tx store.Tx, operationID, name string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.acts SET answered = true, sent_at = clock_timestamp() WHERE operation_id = $1 AND name = $2`, operationID, name)
	if err != nil {
		return fmt.Errorf("note the answer to %s of %s: %w", name, operationID, store.Translate(err))
	}
	return nil
}

// TellAct notes what the BMC has said to it.
func TellAct(ctx context.Context, tx store.Tx, operationID, name, said string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.acts SET answered = true, about = $3 WHERE operation_id = $1 AND name = $2`, operationID, name, said)
	if err != nil {
		return fmt.Errorf("note what was said to %s of %s: %w", name, operationID, store.Translate(err))
	}
	return nil
}
