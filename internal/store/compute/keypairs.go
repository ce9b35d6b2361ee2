package compute

// Keypairs: public keys of users that servers are given at boot.

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Keypair is a row of compute.keypairs.
type Keypair struct {
	ID     int64
	UserID string
	Name   string
	// Type is "ssh" or "x509".
	Type        string
	Fingerprint string
	PublicKey   string
	CreatedAt   time.Time
}

const keypairColumns = `id, user_id, name, type, fingerprint, public_key, created_at`

func (k *Keypair) fields() []any {
	return []any{&k.ID, &k.UserID, &k.Name, &k.Type, &k.Fingerprint, &k.PublicKey, &k.CreatedAt}
}

// CreateKeypair adds a keypair within most (-1: no limit) of its user and fills
// in what the row adds. A name that is taken is faults.Conflict, one too many
// faults.OverLimit.
func CreateKeypair(ctx context.Context, tx store.Tx, k *Keypair, most int64) error {
	// One at a time of a user, so that the count holds.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "keypairs of "+k.UserID); err != nil {
		return store.Translate(err)
	}
	n, err := CountKeypairs(ctx, tx, k.UserID)
	if err != nil {
		return err
	}
	if most >= 0 && n >= most {
		return faults.New(faults.OverLimit, "KeypairLimitExceeded", "Quota exceeded, too many key pairs.")
	}
	err = tx.QueryRow(ctx, `INSERT INTO compute.keypairs (user_id, name, type, fingerprint, public_key)
		VALUES ($1, $2, $3, $4, $5) RETURNING id, created_at`, k.UserID, k.Name, k.Type, k.Fingerprint, k.PublicKey).
		Scan(&k.ID, &k.CreatedAt)
	if isUnique(err, "keypairs_pkey") {
		return faults.Wrap(err, faults.Conflict, "KeyPairExists", "Key pair '%s' already exists.", k.Name)
	}
	return store.Translate(err)
}

// CountKeypairs says how many a user has.
func CountKeypairs(ctx context.Context, q store.Queryer, userID string) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM compute.keypairs WHERE user_id = $1`, userID).Scan(&n)
	return n, store.Translate(err)
}

// GetKeypair gives a user's keypair.
func GetKeypair(ctx context.Context, q store.Queryer, userID, name string) (*Keypair, error) {
	if !isText(name) {
		return nil, keypairNotFound(userID, name)
	}
	k := &Keypair{}
	err := q.QueryRow(ctx, `SELECT `+keypairColumns+` FROM compute.keypairs WHERE user_id = $1 AND name = $2`, userID, name).Scan(k.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, keypairNotFound(userID, name)
	}
	return k, store.Translate(err)
}

// ListKeypairs gives a page of a user's keypairs by name; a marker that isn't
// one of them is faults.Invalid. limit 0 is none.
func ListKeypairs(ctx context.Context, q store.Queryer, userID, marker string, most int) ([]*Keypair, error) {
	if marker != "" {
		if _, err := GetKeypair(ctx, q, userID, marker); faults.Is(err, faults.NotFound) {
			return nil, faults.New(faults.Invalid, "MarkerNotFound", "Marker %s could not be found.", marker)
		} else if err != nil {
			return nil, err
		}
	}
	rows, err := q.Query(ctx, `SELECT `+keypairColumns+` FROM compute.keypairs
		WHERE user_id = $1 AND name > $2 ORDER BY name LIMIT $3`, userID, marker, limit(most))
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*Keypair).fields)
}

// DeleteKeypair takes a user's keypair away; servers keep what they were given.
func DeleteKeypair(ctx context.Context, tx store.Tx, userID, name string) error {
	tag, err := tx.Exec(ctx, `DELETE FROM compute.keypairs WHERE user_id = $1 AND name = $2`, userID, name)
	if err == nil && tag.RowsAffected() == 0 {
		return keypairNotFound(userID, name)
	}
	return store.Translate(err)
}

func keypairNotFound(userID, name string) error {
	return faults.New(faults.NotFound, "KeypairNotFound", "Keypair %s not found for user %s", name, userID)
}
