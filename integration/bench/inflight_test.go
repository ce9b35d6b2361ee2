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
// creates are in flight when the last has been accepted.
const (
	creates    = 1200
	migrations = 200
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

// migrate moves servers, all at once.
func migrate(b *testing.B, c *cloud.Cloud, out *report) {
	b.Helper()
	var found struct{ Servers []struct{ ID string } }
	if err := c.Do(b.Context(), http.MethodGet, fmt.Sprintf("/v2.1/servers?limit=%d", migrations), nil, http.StatusOK, &found); err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"os-migrateLive": map[string]any{"host": nil, "block_migration": "auto"}})
	if err != nil {
		b.Fatal(err)
	}
	header := http.Header{"Openstack-Api-Version": {"compute 2.30"}, "Content-Type": {"application/json"}}
	began := time.Now()
	byClients(len(found.Servers), func(i int) {
		id := found.Servers[i-1].ID
		answer, text, err := c.Ask(b.Context(), cloud.AdminToken, http.MethodPost, "/v2.1/servers/"+id+"/action", header, body)
		if err != nil || answer.StatusCode != http.StatusAccepted {
			b.Errorf("migrate %s: %v: %s", id, err, text)
		}
	})
	const unfinished = `SELECT count(*) FROM compute.migrations WHERE migration_type = 'live-migration' AND status NOT IN ('completed', 'error', 'failed', 'cancelled')`
	flying := count(b, c, unfinished)
	c.Eventually("every migration has ended", settleWithin, func(context.Context) error {
		if n := count(b, c, unfinished); n > 0 {
			return fmt.Errorf("%d have not", n)
		}
		return nil
	})
	took := time.Since(began)
	if done := count(b, c, `SELECT count(*) FROM compute.migrations WHERE migration_type = 'live-migration' AND status = 'completed'`); done != migrations {
		b.Errorf("%d migrations of %d are completed", done, migrations)
	}
	out.line("%d live migrations, **%d** of them in flight when the last was accepted: all completed after %s", migrations, flying, took.Round(100*time.Millisecond))
}

func count(b *testing.B, c *cloud.Cloud, query string) (n int) {
	b.Helper()
	if err := c.DB.Pool.QueryRow(b.Context(), query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}
