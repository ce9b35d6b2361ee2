//go:build real

package stackbench

import (
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/heat/original"
)

// theirs are the queries of the original's tables. Each copy of a stack has a
// template of its own, as each stack has.
var theirs = queries{
	state: `SELECT action || '_' || status FROM stack WHERE name = $1 ORDER BY created_at DESC LIMIT 1`,
	done:  `SELECT count(*) FROM resource r JOIN stack s ON s.id = r.stack_id WHERE s.name = $1 AND r.status = 'COMPLETE'`,
	fill: `WITH one AS (
			SELECT s AS stack, t AS template FROM stack s JOIN raw_template t ON t.id = s.raw_template_id WHERE s.name = 'one'
		), copied AS (
			INSERT INTO raw_template (created_at, template, files, environment, files_id)
			SELECT (template).created_at, (template).template, (template).files, (template).environment, (template).files_id FROM one, generate_series(1, $1)
			RETURNING id
		)
		INSERT INTO stack SELECT (jsonb_populate_record(stack, jsonb_build_object('id', gen_random_uuid(), 'name', 'copy-' || copied.id, 'raw_template_id', copied.id))).*
		FROM one, copied`,
}

// BenchmarkBeside measures Holdfast, and then the original on the same machine, with
// its tables in the same PostgreSQL, while nothing of Holdfast runs.
//
// It is measured unthrottled (integration/heat/original/engine.py). As it is released,
// it takes a second for each resource, so that only what is small or nested is tried.
func BenchmarkBeside(b *testing.B) {
	c, own := measured(b)
	for _, name := range []cloud.Name{cloud.API, cloud.Control, cloud.Host, cloud.Temporal} {
		c.Kill(name)
	}
	heat := original.Deploy(b, c)
	of := func(how string, engine original.Engine) *side {
		anew := func() { heat.Run(b, engine) }
		anew()
		return &side{TB: b, name: "Heat, " + how, base: heat.URL + "/v1/" + c.Project(), pool: heat.DB.Pool, sql: theirs,
			process: "All processes of heat-engine, " + how, memory: heat.EngineMemory, anew: anew}
	}
	unthrottled := of("unthrottled", original.Unthrottled)
	unthrottled.watched(func() {
		unthrottled.reads()
		unthrottled.lives(kinds...)
	})
	released := of("as released", original.Released)
	released.prefix = "released-"
	released.watched(func() { released.lives(kinds[0], kinds[3]) })
	report(b, own, unthrottled, released)
}
