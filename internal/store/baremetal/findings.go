package baremetal

// Findings: what an inspection has found, until its operation ends.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
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

// Expect says that the operation that has a node waits for what the node's ramdisk finds,
// and by which addresses that is known: hardware addresses that its BMC has told, and the
// BMC's own. What was found already stays.
func Expect(ctx context.Context, tx store.Tx, nodeUUID string, macs, bmcs []string) error {
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.findings AS f (node_uuid, operation_id, addresses) SELECT uuid, operation_id, $2 FROM baremetal.nodes WHERE uuid = $1
		ON CONFLICT (node_uuid) DO UPDATE SET addresses = $2`, nodeUUID, orNone(macs))
	if err != nil {
		return fmt.Errorf("findings on node %s: %w", nodeUUID, store.Translate(err))
	}
	return KeepInternal(ctx, tx, nodeUUID, map[string]any{"lookup_bmc_addresses": orNone(bmcs)})
}

// Findings are what a node's ramdisk has found on it.
type Findings struct {
	inspection.Found
	// Addresses are the hardware addresses that its BMC has told.
	Addresses []string
}

// FindingsOf gives what was found on a node and is nobody's yet; nil for nothing.
func FindingsOf(ctx context.Context, q store.Queryer, nodeUUID string) (*Findings, error) {
	f := &Findings{}
	err := q.QueryRow(ctx, `SELECT inventory, plugin_data, addresses FROM baremetal.findings WHERE node_uuid = $1 AND inventory IS NOT NULL`, nodeUUID).
		Scan(&f.Inventory, &f.Plugin, &f.Addresses)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("findings on node %s: %w", nodeUUID, store.Translate(err))
	}
	return f, nil
}

// Settled is what is made of what a node's ramdisk has found.
type Settled struct {
	// Node is its row, Traits are those that it has; nil leaves them.
	Node   *Node
	Traits []string
	// Made says which ports it gets, Ports the changes of those that it has, by their ids.
	Made  inspection.Made
	Ports map[string]json.RawMessage
	// Findings are what is kept.
	Findings *Findings
}

// Settle makes what a ramdisk has found a node's own.
func Settle(ctx context.Context, tx store.Tx, to *Settled) error {
	id := to.Node.UUID
	for _, address := range to.Findings.Addresses {
		if err := AddPort(ctx, tx, id, inspection.Port{Address: address, PXE: true}); err != nil {
			return err
		}
	}
	if err := makePorts(ctx, tx, id, to.Made); err != nil {
		return err
	}
	for uuid, changes := range to.Ports {
		if err := changePort(ctx, tx, uuid, changes); err != nil {
			return err
		}
	}
	if err := Nodes.Update(ctx, tx, to.Node); err != nil {
		return err
	}
	if to.Traits != nil {
		if err := SetTraits(ctx, tx, id, to.Traits); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM baremetal.findings WHERE node_uuid = $1`, id); err != nil {
		return fmt.Errorf("findings on node %s: %w", id, store.Translate(err))
	}
	delete(to.Findings.Plugin, "logs")
	return KeepInventory(ctx, tx, to.Node, to.Findings.Inventory, to.Findings.Plugin)
}

// changePort gives a port that is still there other values.
func changePort(ctx context.Context, tx store.Tx, uuid string, changes json.RawMessage) error {
	p, err := Ports.Lock(ctx, tx, uuid, false)
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(changes, p)
	}
	if err != nil {
		return fmt.Errorf("port %s: %w", uuid, err)
	}
	return Ports.Update(ctx, tx, p)
}

// hasFindings says whether the operation that has a node has found something on it.
func hasFindings(ctx context.Context, q store.Queryer, n *Node) (has bool, err error) {
	if n.ProvisionState != provision.Inspecting && n.ProvisionState != provision.InspectWait {
		return false, nil
	}
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.findings WHERE node_uuid = $1 AND operation_id = $2 AND inventory IS NOT NULL)`, n.UUID, n.OperationID).Scan(&has)
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
	case !keep || f.Inventory == nil:
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
	if err := setProperties(ctx, tx, n.UUID, made.Properties); err != nil {
		return err
	}
	delete(f.Plugin, "logs")
	return KeepInventory(ctx, tx, n, f.Inventory, f.Plugin)
}

// connectPorts says of ports of a node what they are connected to.
func connectPorts(ctx context.Context, tx store.Tx, nodeUUID string, made inspection.Made) error {
	for address, link := range made.Links {
		_, err := tx.Exec(ctx, `UPDATE baremetal.ports SET local_link_connection = $3::jsonb || local_link_connection, updated_at = now()
			WHERE node_uuid = $1 AND address = $2 AND NOT local_link_connection ?& $4`, nodeUUID, address, link, slices.Sorted(maps.Keys(link)))
		if err != nil {
			return fmt.Errorf("ports of node %s: %w", nodeUUID, store.Translate(err))
		}
	}
	for address, network := range made.Networks {
		_, err := tx.Exec(ctx, `UPDATE baremetal.ports SET physical_network = $3, updated_at = now()
			WHERE node_uuid = $1 AND address = $2 AND physical_network IS DISTINCT FROM $3`, nodeUUID, address, network)
		if err != nil {
			return fmt.Errorf("ports of node %s: %w", nodeUUID, store.Translate(err))
		}
	}
	return nil
}

// makePorts gives a node the ports that nobody has, takes those away that it doesn't
// keep, and says of all of its own by which it is booted.
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
	if err := connectPorts(ctx, tx, nodeUUID, made); err != nil {
		return err
	}
	if made.Keep != nil {
		if _, err := tx.Exec(ctx, `DELETE FROM baremetal.ports WHERE node_uuid = $1 AND address <> ALL ($2)`, nodeUUID, made.Keep); err != nil {
			return fmt.Errorf("ports of node %s: %w", nodeUUID, store.Translate(err))
		}
	}
	if made.Booting == inspection.Row {
		return nil
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
