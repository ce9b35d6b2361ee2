package engine

// The inbox: what agents, guests, Neutron or users send to an operation. The
// row is what counts; the Temporal signal is only a knock (Starter.Knock).

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// unheard is what becomes of an event that comes while no operation holds the
// resource.
type unheard string

const (
	// keep it for the next operation.
	keep unheard = "keep"
	// refuse it: the sender is told.
	refuse unheard = "refuse"
	// drop it: the sender is answered as if it had been heard.
	drop unheard = "drop"
)

// meet says what becomes of an event: whether it is stored, and if not whether
// its sender is refused.
func (u unheard) meet(somebodyWaits bool) (stored, refused bool) {
	return somebodyWaits || u == keep, !somebodyWaits && u == refuse
}

// EventName names an event, as its sender does.
type EventName string

// Events on servers that operations wait for (Nova: os-server-external-events).
const (
	NetworkVIFPlugged   EventName = "network-vif-plugged"
	NetworkVIFUnplugged EventName = "network-vif-unplugged"
	NetworkVIFDeleted   EventName = "network-vif-deleted"
)

// events says for every event what the original does when nobody waits. Nova
// logs an unexpected external event and drops it, having answered 200.
var events = map[EventName]unheard{
	NetworkVIFPlugged:   drop,
	NetworkVIFUnplugged: drop,
	NetworkVIFDeleted:   drop,
}

// Event is something sent to whatever operation holds a resource.
type Event struct {
	Resource   operations.ResourceType
	ResourceID string
	Name       EventName
	// SenderKey is the sender's own: the same event sent twice is one.
	SenderKey string
	// Payload is JSON without a secret; nil is {}.
	Payload json.RawMessage
}

// Put stores an event in the transaction that answers its sender, and names
// the operation to knock at; "" if nobody waits and the event was kept or
// dropped. Errors: Invalid (an unknown event), Conflict (code NobodyWaits)
// where the original refuses it, NotFound (no such resource).
func (e *Engine) Put(ctx context.Context, tx store.Tx, event Event) (operationID string, err error) {
	rule, ok := events[event.Name]
	r, served := e.resources[event.Resource]
	if !ok || !served {
		return "", faults.New(faults.Invalid, "UnknownEvent", "a %s takes no event %q", event.Resource, event.Name)
	}
	l, err := r.lock(ctx, tx, event.ResourceID)
	if err != nil {
		return "", err
	}
	stored, refused := rule.meet(l.holder != "")
	if refused {
		return "", faults.New(faults.Conflict, "NobodyWaits", "the %s %s does not wait for %q", event.Resource, event.ResourceID, event.Name)
	}
	if !stored {
		return "", nil
	}
	payload := event.Payload
	if payload == nil {
		payload = json.RawMessage("{}")
	}
	_, err = tx.Exec(ctx, `INSERT INTO engine.operation_inbox (resource_type, resource_id, event, sender_key, payload)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, event.Resource, event.ResourceID, event.Name, event.SenderKey, payload)
	if err != nil {
		return "", fmt.Errorf("store event %s: %w", event.Name, store.Translate(err))
	}
	return l.holder, nil
}

// Take gives the fenced operation its events, oldest first: those that nobody
// has taken and those that an earlier run of it took. Errors: Superseded.
func (e *Engine) Take(ctx context.Context, tx store.Tx, f steps.Fence) ([]Event, error) {
	op, err := e.CheckFence(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `
		WITH taken AS (
			UPDATE engine.operation_inbox SET taken_by = $3
			WHERE resource_type = $1 AND resource_id = $2 AND (taken_by IS NULL OR taken_by = $3)
			RETURNING id, resource_type, resource_id::text, event, sender_key, payload
		)
		SELECT resource_type, resource_id, event, sender_key, payload FROM taken ORDER BY id`, op.ResourceType, op.ResourceID, op.ID)
	if err != nil {
		return nil, fmt.Errorf("inbox of %s: %w", op.ID, store.Translate(err))
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	if err != nil {
		return nil, fmt.Errorf("inbox of %s: %w", op.ID, store.Translate(err))
	}
	return got, nil
}

// clearInbox removes, when an operation ends, the events that were for it
// alone. Kept ones stay, so that one sent again is known.
func (b *batch) clearInbox(op Operation) {
	var kept []string
	for name, rule := range events {
		if rule == keep {
			kept = append(kept, string(name))
		}
	}
	b.Queue(`DELETE FROM engine.operation_inbox
		WHERE resource_type = $1 AND resource_id = $2 AND event <> ALL (COALESCE($3::text[], '{}'))`, op.ResourceType, op.ResourceID, kept)
}
