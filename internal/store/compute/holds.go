package compute

// What an operation has to know of its server, first of all what the server has
// outside by its own rows.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Brief is what a workflow needs to know of a server. It may be deleted: what
// waited for the row while a lost delete was recovered finds nothing left to do.
func Brief(ctx context.Context, tx store.Tx, serverID string) (*steps.ServerBrief, error) {
	b := steps.ServerBrief{ID: serverID}
	var batch pgx.Batch
	batch.Queue(`SELECT COALESCE(host_id::text, ''), vm_state, power_state,
			(SELECT count(*) FROM compute.server_ports WHERE server_id = $1),
			(SELECT count(*) FROM compute.block_devices WHERE server_id = $1 AND destination_type = 'volume'),
			shelved_image_id,
			(SELECT jsonb_build_object('uuid', uuid, 'type', migration_type, 'status', status, 'source', source_host_id,
				'dest', dest_host_id, 'old_vm_state', old_vm_state, 'leftover', leftover)
				FROM compute.migrations WHERE server_id = $1 AND open)
		FROM compute.servers WHERE id = $1`, serverID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&b.Host, &b.VMState, &b.PowerState, &b.Ports, &b.Volumes, &b.ShelvedImage, &b.Migration)
	})
	batch.Queue(selectHolds, holdsArgs(serverID)...).Query(func(rows pgx.Rows) (err error) {
		b.Holds, err = readHolds(rows)
		return err
	})
	err := tx.SendBatch(ctx, &batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, serverNotFound(serverID)
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	return &b, nil
}

// Holds gives what the server has outside, in the order in which a build makes
// it: the image that it was shelved with, its claims, its ports, its volumes, what an unconfirmed move has left on
// its old host, then the guest on its host. They are the ledger lines of an
// operation that takes them away, Seq and Attempt left to the ledger. A claim
// that is owed is its host's to give back, once the guest in it is gone.
func Holds(ctx context.Context, q store.Queryer, serverID string) ([]operations.Effect, error) {
	rows, err := q.Query(ctx, selectHolds, holdsArgs(serverID)...)
	if err != nil {
		return nil, store.Translate(err)
	}
	return readHolds(rows)
}

const selectHolds = `
		SELECT $6::text, '', shelved_image_id FROM compute.servers WHERE id = $1 AND shelved_image_id <> ''
		UNION ALL
		SELECT $2::text AS kind, host_id::text, consumer_id::text FROM compute.allocations a WHERE server_id = $1
			AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.kind = $2
				AND e.ref = a.consumer_id::text AND e.host = a.host_id::text AND e.state = 'owed')
		UNION ALL
		SELECT $4, '', $1::text WHERE EXISTS (SELECT FROM compute.server_ports WHERE server_id = $1 AND bound)
		UNION ALL
		SELECT $5, '', $1::text WHERE EXISTS (SELECT FROM compute.block_devices WHERE server_id = $1 AND destination_type = 'volume'
			AND (attachment_id <> '' OR volume_id <> '' AND (ours OR delete_on_termination)))
		UNION ALL
		SELECT $3, m.source_host_id::text, $1::text FROM compute.migrations m JOIN compute.servers s ON s.id = m.server_id
		WHERE s.id = $1 AND m.open AND m.leftover AND m.source_host_id IS DISTINCT FROM s.host_id AND m.source_host_id IS NOT NULL
		UNION ALL
		SELECT $3, host_id::text, $1::text FROM compute.servers WHERE id = $1 AND host_id IS NOT NULL`

func holdsArgs(serverID string) []any {
	return []any{serverID, operations.EffectClaim, operations.EffectGuest, operations.EffectPorts, operations.EffectVolumes, operations.EffectImage}
}

func readHolds(rows pgx.Rows) ([]operations.Effect, error) {
	defer rows.Close()
	var holds []operations.Effect
	for rows.Next() {
		e := operations.Effect{State: operations.Done}
		if err := rows.Scan(&e.Kind, &e.Host, &e.Ref); err != nil {
			return nil, store.Translate(err)
		}
		holds = append(holds, e)
	}
	return holds, store.Translate(rows.Err())
}
