package engine

// The audit: probes that find what must not be. Silent after every test.

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// Probe looks for one kind of thing that must not be.
type Probe struct {
	Name string
	// Why says what a finding means, to an operator.
	Why string
	Run func(ctx context.Context, q store.Queryer) ([]Finding, error)
}

// Finding is one thing that must not be.
type Finding struct {
	Probe string `json:"probe"`
	// Subject is the id of the row it is about.
	Subject string `json:"subject"`
	Detail  string `json:"detail"`
}

// Report is what an audit has found.
type Report struct {
	Findings []Finding `json:"findings"`
	// Owed counts what hosts and services that are down still have to undo; it
	// is no leak.
	Owed int `json:"owed"`
	// Unfinished counts operations that have not ended.
	Unfinished int `json:"unfinished"`
}

// Audit asks the engine's own probes and those given.
func (e *Engine) Audit(ctx context.Context, probes ...Probe) (Report, error) {
	return e.Ask(ctx, append(e.Probes(), probes...)...)
}

// Ask asks probes, on one snapshot of the database.
func (e *Engine) Ask(ctx context.Context, probes ...Probe) (Report, error) {
	report := Report{Findings: []Finding{}}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.db.Pool, options, func(tx pgx.Tx) error {
		for _, p := range probes {
			found, err := p.Run(ctx, tx)
			if err != nil {
				return fmt.Errorf("probe %s: %w", p.Name, err)
			}
			for _, f := range found {
				f.Probe = p.Name
				report.Findings = append(report.Findings, f)
			}
		}
		return tx.QueryRow(ctx, `SELECT
			(SELECT count(*) FROM engine.operation_effects WHERE state = 'owed'),
			(SELECT count(*) FROM engine.operations WHERE finished_at IS NULL)`).Scan(&report.Owed, &report.Unfinished)
	})
	return report, store.Translate(err)
}

// Probes are the engine's own.
func (e *Engine) Probes() []Probe {
	probes := []Probe{Query("open-effects",
		"An operation has finished and something that it made outside is still there, or may be.",
		`SELECT o.id, format('%s %s on %s is %s', line.kind, line.ref, line.host, line.state)
		FROM engine.operation_effects line JOIN engine.operations o ON o.id = line.operation_id
		WHERE line.state IN ('intended', 'done') AND o.finished_at IS NOT NULL`)}
	for _, kind := range slices.Sorted(maps.Keys(e.resources)) {
		probes = append(probes, e.resources[kind].probes()...)
	}
	return probes
}

func (r Resource) probes() []Probe {
	name := string(r.Type)
	return []Probe{
		Query(name+"-held-by-nobody",
			"A resource is locked by an operation that has finished or is not there, so it stays locked.",
			`SELECT r.`+r.key()+`::text, format('%s of it is %s', held.how, COALESCE(o.id || ', which has finished', held.id || ', which is missing'))
			FROM `+r.Table+` r
			CROSS JOIN LATERAL (VALUES ('operation_id', r.operation_id), ('next_operation_id', r.next_operation_id)) held (how, id)
			LEFT JOIN engine.operations o ON o.id = held.id
			WHERE held.id IS NOT NULL AND (o.id IS NULL OR o.finished_at IS NOT NULL)`),
		Query(name+"-operation-without-lock",
			"An operation has not finished, and neither holds nor shares its resource nor is next.",
			`SELECT o.id, 'it can never go on' FROM engine.operations o
			WHERE o.finished_at IS NULL AND o.resource_type = $1 AND NOT EXISTS (
				SELECT FROM `+r.Table+` r WHERE r.`+r.key()+` = o.resource_id AND (o.generation IS NOT NULL OR o.id IN (r.operation_id, r.next_operation_id)))`,
			r.Type),
		Query(name+"-wrong-turn",
			"An operation may be started while another holds the resource or shares it, or may not be although it is its turn.",
			`SELECT o.id, CASE WHEN o.start_after IS NULL THEN 'it has the resource and may not start' ELSE 'it waits and may start' END
			FROM `+r.Table+` r JOIN engine.operations o ON o.id IN (r.operation_id, r.next_operation_id)
			WHERE o.finished_at IS NULL AND (o.id = r.operation_id AND NOT EXISTS (`+r.shares()+`)) = (o.start_after IS NULL)`),
		Query(name+"-shared-by-turns",
			"Of the operations that share a resource more than one may be started, or none.",
			`SELECT r.`+r.key()+`::text, format('%s of %s may start', count(o.start_after), count(*))
			FROM `+r.Table+` r JOIN engine.operations o ON o.resource_id = r.`+r.key()+`
			WHERE o.finished_at IS NULL AND o.generation IS NOT NULL GROUP BY r.`+r.key()+` HAVING count(o.start_after) <> 1`),
		Query(name+"-next-of-nobody",
			"An operation waits for a resource that nobody holds.",
			`SELECT r.`+r.key()+`::text, next_operation_id || ' waits for nobody' FROM `+r.Table+` r
			WHERE next_operation_id IS NOT NULL AND operation_id IS NULL`),
	}
}

// shares finds the operations that share the resource r.
func (r Resource) shares() string {
	return `SELECT FROM engine.operations s WHERE s.resource_id = r.` + r.key() + ` AND s.finished_at IS NULL AND s.generation IS NOT NULL`
}

// MaxFindings bounds what one probe reports.
const MaxFindings = 1000

// Query makes a probe of a query whose rows are findings: subject and detail,
// both text. At most 1000 are reported.
func Query(name, why, sql string, args ...any) Probe {
	return Probe{Name: name, Why: why, Run: func(ctx context.Context, q store.Queryer) ([]Finding, error) {
		rows, err := q.Query(ctx, `SELECT * FROM (`+sql+`) found (subject, detail) LIMIT `+fmt.Sprint(MaxFindings), args...)
		if err != nil {
			return nil, store.Translate(err)
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Finding, err error) {
			err = row.Scan(&f.Subject, &f.Detail)
			return f, err
		})
		return found, store.Translate(err)
	}}
}
