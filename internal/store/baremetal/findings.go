package baremetal

// Findings: what an inspection has found, until its operation ends.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
)

// KeepFindings writes what the operation that has a node has found on it, in the place
// of what it had found before.
func KeepFindings(ctx context.Context, tx store.Tx, nodeUUID string, f inspection.Found) error {
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.findings (node_uuid, operation_id, properties, inventory, plugin_data)
		SELECT uuid, operation_id, $2, $3, $4 FROM baremetal.nodes WHERE uuid = $1
		ON CONFLICT (node_uuid) DO UPDATE SET operation_id = excluded.operation_id, properties = $2, inventory = $3, plugin_data = $4`,
		nodeUUID, f.Properties, f.Inventory, f.Plugin)
	if err != nil {
		return fmt.Errorf("findings on node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}

// hasFindings says whether the operation that has a node has found something on it.
func hasFindings(ctx context.Context, q store.Queryer, n *Node) (has bool, err error) {
	if n.ProvisionState != provision.Inspecting && n.ProvisionState != provision.InspectWait {
		return false, nil
	}
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.findings WHERE node_uuid = $1 AND operation_id = $2)`, n.UUID, n.OperationID).Scan(&has)
	return has, store.Translate(err)
}

// settleFindings makes what was found on a node its own, if keep says so, and forgets
// it. Errors: Invalid, nothing can be made of it.
func settleFindings(ctx context.Context, tx store.Tx, n *Node, keep bool) error {
	var f inspection.Found
	err := tx.QueryRow(ctx, `DELETE FROM baremetal.findings WHERE node_uuid = $1 RETURNING properties, inventory, plugin_data`, n.UUID).
		Scan(&f.Properties, &f.Inventory, &f.Plugin)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("findings on node %s: %w", n.UUID, store.Translate(err))
	case !keep:
		return nil
	}
	var before map[string]any
	if err := json.Unmarshal(n.Properties, &before); err != nil {
		return fmt.Errorf("properties of node %s: %w", n.UUID, err)
	}
	made, err := inspection.Make(n.UUID, before, f)
	if err != nil {
		return err
	}
	if err := makePorts(ctx, tx, n.UUID, made); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET properties = $2 WHERE uuid = $1`, n.UUID, made.Properties); err != nil {
		return fmt.Errorf("properties of node %s: %w", n.UUID, store.Translate(err))
	}
	delete(f.Plugin, "logs")
	return KeepInventory(ctx, tx, n, f.Inventory, f.Plugin)
}

// makePorts gives a node the ports that nobody has, and says of all of its own by
// which it is booted.
func makePorts(ctx context.Context, tx store.Tx, nodeUUID string, made inspection.Made) error {
	for _, p := range made.Ports {
		if err := AddPort(ctx, tx, nodeUUID, p); err != nil {
			return err
		}
	}
	var booted []string
	for _, p := range made.All {
		if p.PXE {
			booted = append(booted, p.Address)
		}
		_, err := tx.Exec(ctx, `UPDATE baremetal.ports SET extra = extra || jsonb_build_object('client-id', $3::text), updated_at = now()
			WHERE node_uuid = $1 AND address = $2 AND $3 <> '' AND extra ->> 'client-id' IS DISTINCT FROM $3`, nodeUUID, p.Address, p.ClientID)
		if err != nil {
			return fmt.Errorf("ports of node %s: %w", nodeUUID, store.Translate(err))
		}
	}
	_, err := tx.Exec(ctx, `UPDATE baremetal.ports SET pxe_enabled = NOT pxe_enabled, updated_at = now()
		WHERE node_uuid = $1 AND pxe_enabled <> (address = ANY ($2))`, nodeUUID, orNone(booted))
	if err != nil {
		return fmt.Errorf("ports of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}

// AddPort gives a node a port, unless somebody has its address.
func AddPort(ctx context.Context, tx store.Tx, nodeUUID string, p inspection.Port) error {
	extra := map[string]any{}
	if p.ClientID != "" {
		extra["client-id"] = p.ClientID
	}
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.ports (uuid, node_uuid, address, pxe_enabled, extra) VALUES (gen_random_uuid(), $1, $2, $3, $4)
		ON CONFLICT (address) DO NOTHING`, nodeUUID, p.Address, p.PXE, extra)
	if err != nil {
		return fmt.Errorf("ports of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}
