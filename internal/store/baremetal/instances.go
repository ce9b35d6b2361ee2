package baremetal

// Instances: what has been made of a node for somebody, as far as the node's row and
// its ports know of it.

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast.dev/internal/store"
)

// VIFKey is where the internal_info of a port or port group has the virtual interface
// of the instance.
const VIFKey = "tenant_vif_port_id"

// ofInstance is what driver_internal_info knows of an instance.
var ofInstance = []string{"instance", "root_uuid_or_disk_id", "is_whole_disk_image", "is_source_a_path", "deploy_boot_mode", "agent_cached_deploy_steps", lent}

// lent says that a node's lessee goes with its instance.
const lent = "automatic_lessee"

// Lend has a node that has no lessee be somebody's for as long as it has an instance.
func Lend(ctx context.Context, tx store.Tx, id, project string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET lessee = $2, driver_internal_info = driver_internal_info || jsonb_build_object($3::text, true)
		WHERE uuid = $1 AND lessee IS NULL`, id, project, lent)
	if err != nil {
		return fmt.Errorf("the lessee of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// KeepRAID says which logical disks a node has, and SetTargetRAID which it is to have, for who
// has checked the fence.
func KeepRAID(ctx context.Context, tx store.Tx, id string, made any) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET raid_config = $2::jsonb WHERE uuid = $1`, id, made)
	if err != nil {
		return fmt.Errorf("the logical disks of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// KeepMadeRAID says which logical disks a node's ramdisk has made, and what its properties
// are with them, for who has checked the fence.
func KeepMadeRAID(ctx context.Context, tx store.Tx, id string, made any, properties json.RawMessage) error {
	if err := KeepRAID(ctx, tx, id, made); err != nil {
		return err
	}
	return setProperties(ctx, tx, id, properties)
}

// setProperties replaces those of a node.
func setProperties(ctx context.Context, tx store.Tx, id string, properties any) error {
	if _, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET properties = $2 WHERE uuid = $1`, id, properties); err != nil {
		return fmt.Errorf("properties of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// SetTargetRAID is that.
func SetTargetRAID(ctx context.Context, tx store.Tx, id string, target json.RawMessage) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET target_raid_config = $2::jsonb WHERE uuid = $1`, id, target)
	if err != nil {
		return fmt.Errorf("the logical disks that node %s is to have: %w", id, store.Translate(err))
	}
	return nil
}

// Vacate says of a node that nobody's instance is on it: its allocation goes with it,
// and so do its virtual interfaces. Secrets are the node's own. The caller holds the
// row.
func Vacate(ctx context.Context, tx store.Tx, n *Node, secrets []byte) error {
	if err := EndAllocation(ctx, tx, n); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET instance_info = '{}', instance_uuid = NULL, instance_name = NULL, secrets = $2,
			lessee = CASE WHEN driver_internal_info ? $4::text THEN NULL ELSE lessee END, driver_internal_info = driver_internal_info - $3::text[], updated_at = now() WHERE uuid = $1`, n.UUID, secrets, ofInstance, lent)
	for _, table := range []string{"ports", "portgroups"} {
		if err == nil {
			_, err = tx.Exec(ctx, `UPDATE baremetal.`+table+` SET internal_info = internal_info - $2::text, updated_at = now() WHERE node_uuid = $1 AND internal_info ? $2`, n.UUID, VIFKey)
		}
	}
	if err != nil {
		return fmt.Errorf("the instance of node %s: %w", n.UUID, store.Translate(err))
	}
	return nil
}
