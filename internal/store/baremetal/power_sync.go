package baremetal

// Power by the clock: which nodes' BMCs are asked for it, and what comes of what they
// say.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
)

// inStep is the condition of a node whose power is compared with its row: nobody
// works on it, and its BMC is expected to answer.
const inStep = `NOT t.maintenance AND t.reservation IS NULL AND t.operation_id IS NULL AND t.target_power_state IS NULL
	AND t.provision_state NOT IN ('wait call-back', 'clean wait', 'enroll', 'adopt failed')`

// powerFailed is the condition of one in maintenance because of its power, which is
// looked at until it answers.
const powerFailed = `t.maintenance AND t.fault = '` + provision.PowerFailure + `' AND t.reservation IS NULL AND t.operation_id IS NULL
	AND t.target_power_state IS NULL AND t.provision_state <> 'enroll'`

func ofRound(recovers bool) string {
	if recovers {
		return powerFailed
	}
	return inStep
}

// NodePage is a part of the nodes of a group of conductors: the next pageSize of them
// after one.
type NodePage struct{ Group, After string }

// NodePages are the parts of the nodes of groups that have a conductor alive: of those
// whose power is compared, or those that have failed. A round has at most so many.
func NodePages(ctx context.Context, q store.Queryer, recovers bool, size, most int) ([]NodePage, error) {
	rows, err := q.Query(ctx, `SELECT conductor_group, COALESCE(before::text, '') FROM (
			SELECT t.conductor_group, lag(t.uuid) OVER w AS before, row_number() OVER w AS place FROM baremetal.nodes t
			WHERE t.conductor_group IN (SELECT conductor_group FROM baremetal.conductors WHERE `+alive+`) AND `+ofRound(recovers)+`
			WINDOW w AS (PARTITION BY t.conductor_group ORDER BY t.uuid)) n
		WHERE (place - 1) % $1 = 0 ORDER BY place, conductor_group LIMIT $2`, size, most)
	if err != nil {
		return nil, fmt.Errorf("parts of the nodes: %w", store.Translate(err))
	}
	pages, err := pgx.CollectRows(rows, pgx.RowToStructByPos[NodePage])
	return pages, store.Translate(err)
}

// NodesOfPage are the nodes of a part; those that have failed before come with how
// often they have.
func NodesOfPage(ctx context.Context, q store.Queryer, p NodePage, recovers bool, size int) ([]*Node, map[string]int, error) {
	after := p.After
	if after == "" {
		after = "00000000-0000-0000-0000-000000000000"
	}
	all, err := Nodes.all(ctx, q, "t.conductor_group = $1 AND t.uuid > $2 AND "+ofRound(recovers)+" ORDER BY t.uuid LIMIT $3", p.Group, after, size)
	if err != nil {
		return nil, nil, err
	}
	ids := make([]string, len(all))
	for i, n := range all {
		ids[i] = n.UUID
	}
	rows, err := q.Query(ctx, `SELECT node_uuid::text, failures FROM baremetal.power_sync WHERE node_uuid = ANY ($1)`, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("failures of power: %w", store.Translate(err))
	}
	failed, id, times := map[string]int{}, "", 0
	_, err = pgx.ForEachRow(rows, []any{&id, &times}, func() error {
		failed[id] = times
		return nil
	})
	return all, failed, store.Translate(err)
}

// InRound locks a node and says whether its power may still be brought into step, or
// it may be recovered.
func InRound(ctx context.Context, tx store.Tx, id string, recovers bool) (*Node, bool, error) {
	n, err := Nodes.find(ctx, tx, true, "t.uuid = $1 AND "+ofRound(recovers), id)
	if faults.Is(err, faults.NotFound) {
		return nil, false, nil
	}
	return n, err == nil, err
}

// FailPower counts a failure of a node's power, once a round, and gives how many there
// have been in a row.
func FailPower(ctx context.Context, tx store.Tx, id, round string) (failures int, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO baremetal.power_sync AS p (node_uuid, failures, round) VALUES ($1, 1, $2)
		ON CONFLICT (node_uuid) DO UPDATE SET failures = p.failures + CASE WHEN p.round = $2 THEN 0 ELSE 1 END, round = $2
		RETURNING failures`, id, round).Scan(&failures)
	if err != nil {
		return 0, fmt.Errorf("failure of the power of node %s: %w", id, store.Translate(err))
	}
	return failures, nil
}

// KeepPower says of a node that its power is known and in step; what went wrong before
// is forgotten.
func KeepPower(ctx context.Context, tx store.Tx, id string, now provision.Power) error {
	if err := forgetFailures(ctx, tx, id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET power_state = $2, last_error = NULL,
			updated_at = CASE WHEN power_state IS DISTINCT FROM $2 THEN now() ELSE updated_at END WHERE uuid = $1`, id, now)
	if err != nil {
		return fmt.Errorf("power of node %s: %w", id, store.Translate(err))
	}
	return nil
}

func forgetFailures(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.power_sync WHERE node_uuid = $1`, id)
	if err != nil {
		return fmt.Errorf("failures of the power of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// GiveUpPower puts a node into maintenance whose power is not to be brought into step;
// empty says that nobody knows what it is.
func GiveUpPower(ctx context.Context, tx store.Tx, id string, now provision.Power, why string) error {
	if err := rememberAs(ctx, tx, id, why, "monitoring"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET power_state = NULLIF($2, ''), last_error = $3, maintenance = true, maintenance_reason = $3, fault = $4,
			updated_at = now() WHERE uuid = $1`, id, now, why, provision.PowerFailure)
	if err != nil {
		return fmt.Errorf("power of node %s: %w", id, store.Translate(err))
	}
	return forgetFailures(ctx, tx, id)
}

// RecoverPower takes a node out of the maintenance that its power had put it into.
func RecoverPower(ctx context.Context, tx store.Tx, id string, now provision.Power) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET power_state = $2, maintenance = false, maintenance_reason = NULL, fault = NULL, updated_at = now()
		WHERE uuid = $1`, id, now)
	if err != nil {
		return fmt.Errorf("power of node %s: %w", id, store.Translate(err))
	}
	return forgetFailures(ctx, tx, id)
}
