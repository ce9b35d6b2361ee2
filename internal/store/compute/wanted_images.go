package compute

// Images that hosts are to have before a server asks for them. That is a wish and no
// operation: nothing is undone or owed, and a host that doesn't come to it in time
// is asked no longer.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

const (
	// MaxWantedImages bounds what one host is wanted to have.
	MaxWantedImages = 100
	// wantedFor is how long an image is wanted.
	wantedFor = time.Hour
)

// WantImages has the hosts of an aggregate that are up get the images; those that are
// down are passed over, as in the original. faults.Invalid: a host would have too many
// to get.
func WantImages(ctx context.Context, tx store.Tx, aggregateID int64, images []string, downAfter time.Duration) error {
	if downAfter == 0 {
		downAfter = DownAfter
	}
	// Who wants something of the same hosts waits, so that their number is right.
	rows, err := tx.Query(ctx, `SELECT h.id::text FROM compute.hosts h JOIN compute.aggregate_hosts m ON m.host_id = h.id
		WHERE m.aggregate_id = $1 AND NOT h.forced_down AND h.last_seen >= now() - $2::interval
		ORDER BY h.id FOR NO KEY UPDATE OF h`, aggregateID, downAfter)
	if err != nil {
		return store.Translate(err)
	}
	hosts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return store.Translate(err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM compute.wanted_images WHERE host_id = ANY ($1::uuid[]) AND wanted_at <= now() - $2::interval`, hosts, wantedFor); err != nil {
		return store.Translate(err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO compute.wanted_images (host_id, image_id)
		SELECT h, i FROM unnest($1::uuid[]) AS h, (SELECT DISTINCT unnest($2::text[])) AS images (i)
		ON CONFLICT (host_id, image_id) DO UPDATE SET wanted_at = now()`, hosts, images)
	if err != nil {
		return store.Translate(err)
	}
	var most int
	err = tx.QueryRow(ctx, `SELECT COALESCE(max(n), 0) FROM (SELECT count(*) AS n FROM compute.wanted_images WHERE host_id = ANY ($1::uuid[]) GROUP BY host_id) AS counted`, hosts).
		Scan(&most)
	if err == nil && most > MaxWantedImages {
		return TooManyWanted(most)
	}
	return store.Translate(err)
}

// TooManyWanted is the refusal of more images than a host is wanted to have.
func TooManyWanted(n int) error {
	return faults.New(faults.Invalid, "TooManyImages", "A host would have %d images to cache, more than %d.", n, MaxWantedImages)
}

// WantedImages are those that a host is to have, those first that were wanted first.
func WantedImages(ctx context.Context, q store.Queryer, hostID string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT image_id FROM compute.wanted_images
		WHERE host_id = $1 AND wanted_at > now() - $2::interval ORDER BY wanted_at, image_id LIMIT $3`, hostID, wantedFor, MaxWantedImages)
	if err != nil {
		return nil, store.Translate(err)
	}
	images, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return images, store.Translate(err)
}

// SettleImage takes an image from those that a host is to have.
func SettleImage(ctx context.Context, q store.Queryer, hostID, imageID string) error {
	_, err := q.Exec(ctx, `DELETE FROM compute.wanted_images WHERE host_id = $1 AND image_id = $2`, hostID, imageID)
	return store.Translate(err)
}
