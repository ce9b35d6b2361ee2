package baremetal

// The password of the ramdisk that rescues a node: kept, sealed, until its operation
// ends (Publish).

import (
	"context"
	"fmt"

	"holdfast.dev/internal/store"
)

// KeepRescue keeps what the ramdisk is to have as its password.
func KeepRescue(ctx context.Context, tx store.Tx, nodeUUID string, sealed []byte) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET rescue_secret = $2 WHERE uuid = $1`, nodeUUID, sealed)
	if err != nil {
		return fmt.Errorf("rescue of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}

// RescueOf gives what is kept; nil if there is nothing.
func RescueOf(ctx context.Context, q store.Queryer, nodeUUID string) (sealed []byte, err error) {
	err = q.QueryRow(ctx, `SELECT rescue_secret FROM baremetal.nodes WHERE uuid = $1`, nodeUUID).Scan(&sealed)
	return sealed, store.Translate(err)
}
