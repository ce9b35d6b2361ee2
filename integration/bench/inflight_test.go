package bench

// Many operations in flight at once: creates, then live migrations.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// How many: requests come faster than builds end, so that more than a thousand
// creates are in flight when the last has been accepted. Guests are on their way
// for longer than it takes to accept every migration.
const (
	creates    = 1200
	migrations = 200
	copyTime   = 20 * time.Second
)

// crowds measures both. Each operation must succeed.
func crowds(b *testing.B, c *cloud.Cloud, out *report) {
	b.Helper()
	began := time.Now()
	manyCreates(b, c, "crowd", creates)
	flying := count(b, c, `SELECT count(*) FROM compute.servers WHERE vm_state = 'building' AND deleted_at IS NULL`)
	out.memory(fmt.Sprintf("with %d creates in flight", flying), c)
	allActive(b, c)
	out.line("%d creates, **%d** of them in flight when the last was accepted: all ACTIVE after %s", creates, flying, time.Since(began).Round(time.Second))
	out.memory("after them", c)

	migrate(b, c, out)
	out.memory("after them", c)
}

// migrate moves servers, all at once: two of each host, of which one moves while the
// other waits for its turn.
func migrate(b *testing.B, c *cloud.Cloud, out *report) {
	b.Helper()
	var ids []string
	err := c.DB.Pool.QueryRow(b.Context(), `SELECT array_agg(id::text) FROM (SELECT id FROM compute.servers WHERE vm_state = 'active' AND deleted_at IS NULL
		ORDER BY row_number() OVER (PARTITION BY host_id ORDER BY id) LIMIT $1) s`, migrations).Scan(&ids)
	if err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"os-migrateLive": map[string]any{"host": nil, "block_migration": "auto"}})
	if err != nil {
		b.Fatal(err)
	}
	// Until 2.34 the answer comes when the guest is on its way.
	header := http.Header{"Openstack-Api-Version": {"compute 2.90"}, "Content-Type": {"application/json"}}
	c.Slow("migrate.copy=" + copyTime.String())
	began := time.Now()
	byClients(len(ids), func(i int) {
		answer, text, err := c.Ask(b.Context(), cloud.AdminToken, http.MethodPost, "/v2.1/servers/"+ids[i-1]+"/action", header, body)
		if err != nil || answer.StatusCode != http.StatusAccepted {
			b.Errorf("migrate %s: %v: %s", ids[i-1], err, text)
		}
	})
	accepted := time.Since(began)
	flying := count(b, c, `SELECT count(*) FROM compute.migrations WHERE open AND migration_type = 'live-migration'`)
	out.memory(fmt.Sprintf("with %d live migrations in flight", flying), c)
	var moving int
	c.Eventually("every migration has ended", settleWithin, func(context.Context) error {
		moving = max(moving, count(b, c, `SELECT count(*) FROM compute.migrations WHERE open AND status = 'running'`))
		if n := count(b, c, `SELECT count(*) FROM compute.migrations WHERE open AND migration_type = 'live-migration'`); n > 0 {
			return fmt.Errorf("%d have not", n)
		}
		return nil
	})
	took := time.Since(began)
	if done := count(b, c, `SELECT count(*) FROM compute.migrations WHERE migration_type = 'live-migration' AND status = 'completed'`); done != migrations {
		b.Errorf("%d migrations of %d are completed", done, migrations)
	}
	out.line("%d live migrations of %s each, two from each host, which lets go of one at a time: accepted within %s, **%d** of them in flight when the last was, up to **%d** on their way at once; all completed after %s",
		migrations, copyTime, accepted.Round(100*time.Millisecond), flying, moving, took.Round(100*time.Millisecond))
}

func count(b *testing.B, c *cloud.Cloud, query string) (n int) {
	b.Helper()
	if err := c.DB.Pool.QueryRow(b.Context(), query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}
