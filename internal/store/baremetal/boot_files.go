package baremetal

// Files that nodes are booted from, and what is expected of a node's ramdisk.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// BootFile is the one that a node is booted from, a medium or a folder of files; URL is where
// the conductor serves that has it.
type BootFile struct {
	NodeUUID, OperationID, Name, Conductor, URL string
}

// BootFileOf is a node's; nil if it has none.
func BootFileOf(ctx context.Context, q store.Queryer, nodeUUID string) (*BootFile, error) {
	return bootFile(ctx, q, "node_uuid = $1", nodeUUID)
}

// BootFileNamed is the one that is served as a name; nil if there is none.
func BootFileNamed(ctx context.Context, q store.Queryer, name string) (*BootFile, error) {
	return bootFile(ctx, q, "name = $1", name)
}

// BootFileOfPort is that of the node which is booted by the port of a hardware address; nil
// if it has none.
func BootFileOfPort(ctx context.Context, q store.Queryer, address string) (*BootFile, error) {
	return bootFile(ctx, q, "node_uuid = (SELECT node_uuid FROM baremetal.ports WHERE address = $1 AND pxe_enabled)", address)
}

func bootFile(ctx context.Context, q store.Queryer, where, arg string) (*BootFile, error) {
	f := &BootFile{}
	err := q.QueryRow(ctx, `SELECT node_uuid::text, operation_id, name, conductor, url FROM baremetal.boot_files WHERE `+where, arg).
		Scan(&f.NodeUUID, &f.OperationID, &f.Name, &f.Conductor, &f.URL)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("boot file: %w", store.Translate(err))
	}
	return f, nil
}

// BootFilesOf are the names of those that a conductor has.
func BootFilesOf(ctx context.Context, q store.Queryer, conductor string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT name FROM baremetal.boot_files WHERE conductor = $1`, conductor)
	if err != nil {
		return nil, fmt.Errorf("boot files of %s: %w", conductor, store.Translate(err))
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("boot files of %s: %w", conductor, store.Translate(err))
	}
	return names, nil
}

// KeepBootFile says that a node is booted from a file, and from no other.
func KeepBootFile(ctx context.Context, tx store.Tx, f BootFile) error {
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.boot_files (node_uuid, operation_id, name, conductor, url) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (node_uuid) DO UPDATE SET operation_id = $2, name = $3, conductor = $4, url = $5, created_at = now()`, f.NodeUUID, f.OperationID, f.Name, f.Conductor, f.URL)
	if err != nil {
		return fmt.Errorf("boot file of node %s: %w", f.NodeUUID, store.Translate(err))
	}
	return nil
}

// DropBootFile says that a node is booted from no file.
func DropBootFile(ctx context.Context, tx store.Tx, nodeUUID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.boot_files WHERE node_uuid = $1`, nodeUUID)
	if err != nil {
		return fmt.Errorf("boot file of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}

// Untouched says whether no operation has been on a node since one was.
func Untouched(ctx context.Context, q store.Queryer, nodeUUID, operationID string) (untouched bool, err error) {
	err = q.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM engine.operations was JOIN engine.operations later
		ON later.resource_id = was.resource_id AND later.created_at > was.created_at WHERE was.id = $2 AND was.resource_id = $1)`,
		nodeUUID, operationID).Scan(&untouched)
	if err != nil {
		return false, fmt.Errorf("operations on node %s: %w", nodeUUID, store.Translate(err))
	}
	return untouched, nil
}

// SetInternal replaces what operations and ramdisks have written down of a node, for
// who has checked the fence.
func SetInternal(ctx context.Context, tx store.Tx, id string, info json.RawMessage, secrets []byte) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET driver_internal_info = $2::jsonb, secrets = $3 WHERE uuid = $1`, id, info, secrets)
	if err != nil {
		return fmt.Errorf("what is known of node %s: %w", id, store.Translate(err))
	}
	return nil
}
