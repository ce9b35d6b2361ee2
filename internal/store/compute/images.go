package compute

// Images that are being made of servers.

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// InputOfHolder gives what was asked for by the operation that holds a server.
// Errors: NotFound, none does.
func InputOfHolder(ctx context.Context, q store.Queryer, serverID string) (json.RawMessage, error) {
	var input json.RawMessage
	err := q.QueryRow(ctx, `SELECT o.input FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id
		WHERE s.id = $1 AND o.finished_at IS NULL`, serverID).Scan(&input)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, faults.New(faults.NotFound, "NoOperation", "no operation holds server %s", serverID)
	}
	return input, store.Translate(err)
}

// uploading is the task state of a server whose image is on its way to Glance,
// by the one while it waits for that.
var uploading = map[servers.TaskState]servers.TaskState{
	servers.TaskImagePendingUpload:         servers.TaskImageUploading,
	servers.TaskShelvingImagePendingUpload: servers.TaskShelvingImageUploading,
}

// ShowUploading shows that the image of a server is on its way, if the server is
// shown to wait for that.
func ShowUploading(ctx context.Context, q store.Queryer, serverID string) error {
	for pending, task := range uploading {
		_, err := q.Exec(ctx, `UPDATE compute.servers SET task_state = $3, updated_at = now()
			WHERE id = $1 AND task_state = $2 AND next_operation_id IS NULL`, serverID, pending, task)
		if err != nil {
			return store.Translate(err)
		}
	}
	return nil
}
