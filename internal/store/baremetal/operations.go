package baremetal

// What the engine knows of nodes, and what an operation makes true of one.

import (
	"context"
	"fmt"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Locks tells the engine how nodes are locked.
func Locks() engine.Resource {
	return engine.Resource{Type: operations.Node, Table: "baremetal.nodes", Key: "uuid", Abandon: abandon}
}

// abandon says of a node whose operation ended without having begun that nobody
// works on it, and why that came to nothing. The caller holds the row.
func abandon(ctx context.Context, tx store.Tx, op engine.Operation, _ operations.Result, f *steps.Fault) error {
	return Publish(ctx, tx, op.ResourceID, steps.NodeOutcome{}, f)
}

// Brief is what a workflow needs to know of a node.
func Brief(ctx context.Context, q store.Queryer, id string) (*steps.NodeBrief, error) {
	n, err := Nodes.Find(ctx, q, id, false)
	if err != nil {
		return nil, err
	}
	b := &steps.NodeBrief{ID: n.UUID, Group: n.ConductorGroup, ProvisionState: string(n.ProvisionState)}
	if n.Reservation != nil {
		b.Conductor = *n.Reservation
	}
	if n.PowerState != nil {
		b.PowerState = *n.PowerState
	}
	return b, nil
}

// Reserve says of a node that a conductor works on it.
func Reserve(ctx context.Context, tx store.Tx, id, conductor string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET reservation = $2 WHERE uuid = $1`, id, conductor)
	if err != nil {
		return fmt.Errorf("reserve node %s: %w", id, store.Translate(err))
	}
	return nil
}

// AwaitPower says of a node that its power is being changed; what went wrong
// before is forgotten.
func AwaitPower(ctx context.Context, tx store.Tx, id string, target provision.Power) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET target_power_state = $2, last_error = NULL WHERE uuid = $1`, id, target)
	if err != nil {
		return fmt.Errorf("power of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// Publish makes o true of a node, with the fault that an operation ended with,
// which its history remembers.
// The conductor goes on to the operation that waits, if one does. The caller has
// checked the fence.
func Publish(ctx context.Context, tx store.Tx, id string, o steps.NodeOutcome, f *steps.Fault) error {
	var wrong *string
	if f != nil {
		if err := remember(ctx, tx, id, f.Message); err != nil {
			return err
		}
		wrong = &f.Message
	}
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET power_state = COALESCE($2, power_state), target_power_state = NULL,
			last_error = COALESCE($3, last_error), updated_at = now(),
			reservation = CASE WHEN next_operation_id IS NOT NULL THEN reservation END
		WHERE uuid = $1`, id, o.PowerState, wrong)
	if err != nil {
		return fmt.Errorf("publish node %s: %w", id, store.Translate(err))
	}
	return nil
}

// Probes are the service's own.
var Probes = []engine.Probe{
	engine.Query("node-reserved-by-nobody",
		"A node shows that a conductor works on it, and no operation has it.",
		`SELECT uuid::text, 'reserved by ' || reservation FROM baremetal.nodes WHERE reservation IS NOT NULL AND operation_id IS NULL`),
	engine.Query("node-held-in-secret",
		"An operation has a node, and the node shows nobody at work on it.",
		`SELECT uuid::text, 'held by ' || operation_id FROM baremetal.nodes WHERE reservation IS NULL AND operation_id IS NOT NULL`),
	engine.Query("node-power-of-nobody",
		"A node shows that its power is being changed, and no operation has it.",
		`SELECT uuid::text, 'to be ' || target_power_state FROM baremetal.nodes WHERE target_power_state IS NOT NULL AND operation_id IS NULL`),
	engine.Query("node-leased-for-ever",
		"A node's BMC is leased for much longer than any step needs it.",
		`SELECT node_uuid::text, 'until ' || until FROM baremetal.leases WHERE until > now() + interval '10 minutes'`),
}
