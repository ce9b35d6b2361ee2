package compute

// What a rescue changes of a server's rows while it is at work.

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
)

// StartsFrom is the image that a server's guest is to start from: that of the
// rescue or the rebuild which holds the server, or that of its time on the shelf,
// or else its own; empty if none.
func StartsFrom(ctx context.Context, q store.Queryer, s *Server) (imageID string, err error) {
	err = q.QueryRow(ctx, `SELECT input->>'image_id' FROM engine.operations WHERE id = $1 AND kind = $2 AND finished_at IS NULL`,
		s.OperationID, operations.ServerRescue).Scan(&imageID)
	if !errors.Is(err, pgx.ErrNoRows) {
		return imageID, store.Translate(err)
	}
	in, err := readRebuild(ctx, q, s, rebuildOf)
	if err != nil || in == nil || s.ImageID == "" {
		return cmp.Or(s.ShelvedImageID, s.ImageID), err
	}
	return in.ImageID, nil
}

// SetAdminPassword is what the next config drive tells the server's guest.
func SetAdminPassword(ctx context.Context, tx store.Tx, box *secrets.Box, serverID, password string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.boot_data SET admin_password = $2 WHERE server_id = $1`,
		serverID, box.Seal([]byte(password), place(serverID, "admin_password")))
	return store.Translate(err)
}
