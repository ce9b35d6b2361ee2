package operators

// The database is restored from a backup while hosts went on.

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// After a restore the audit names what hosts have and the database doesn't
// know; nothing is destroyed; --adopt makes the rows true of it, and from then
// on users have their servers again.
func TestRestoreFromBackup(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{Hosts: 2})
	old, gone := c.MustCreate("old"), c.MustCreate("gone")
	is(t, c, "ACTIVE", old, gone)
	backup := filepath.Join(t.TempDir(), "backup.sql")
	run(t, "pg_dump", "--clean", "--if-exists", "--file", backup, c.DSN())

	// What the backup doesn't know.
	young, stopped := c.MustCreate("young"), c.MustCreate("stopped")
	is(t, c, "ACTIVE", young, stopped)
	action(t, c, stopped, "os-stop")
	action(t, c, old, "os-stop")
	is(t, c, "SHUTOFF", stopped, old)
	must(t, c.Delete(t.Context(), gone))
	is(t, c, "", gone)
	before := c.Guests()
	if len(before) != 3 {
		t.Fatalf("guests %v, want three", before)
	}

	c.Kill(cloud.API)
	c.Kill(cloud.Control)
	run(t, "psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", backup, c.DSN())
	c.Restart(cloud.API)
	reported(t, c)
	report, err := c.Report(t.Context())
	must(t, err)
	found := map[string]string{}
	for _, f := range report.Findings {
		found[f.Subject] = f.Probe
	}
	want := map[string]string{young: "guest-without-server", stopped: "guest-without-server", old: "server-behind-host", gone: "server-without-guest"}
	if !maps.Equal(found, want) {
		t.Fatalf("after the restore the audit says %+v, want %v", report.Findings, want)
	}
	c.Restart(cloud.Control)
	if after := c.Guests(); !maps.Equal(after, before) {
		t.Fatalf("guests %v after the restore, %v before", after, before)
	}

	for range 2 { // the second time there is nothing to do
		if _, code := c.Try("audit", "--adopt"); code != 1 {
			t.Errorf("audit --adopt: exit code %d, want 1 for the guest that is lost", code)
		}
	}
	report, err = c.Report(t.Context())
	must(t, err)
	if len(report.Findings) != 1 || report.Findings[0].Subject != gone {
		t.Errorf("after --adopt the audit says %+v, want only that %s is lost", report.Findings, gone)
	}
	is(t, c, "ACTIVE", young)
	is(t, c, "SHUTOFF", stopped)
	if after := c.Guests(); !maps.Equal(after, before) {
		t.Errorf("guests %v after --adopt, %v before", after, before)
	}

	// Everything works on them again.
	action(t, c, stopped, "os-start")
	action(t, c, young, "os-stop")
	action(t, c, old, "os-stop")
	is(t, c, "ACTIVE", stopped)
	is(t, c, "SHUTOFF", young, old)
	for _, id := range []string{old, gone, young, stopped} {
		must(t, c.Delete(t.Context(), id))
	}
	is(t, c, "", old, gone, young, stopped)
	if left := c.Guests(); len(left) != 0 {
		t.Errorf("guests %v are left", slices.Collect(maps.Keys(left)))
	}
	c.Audit()
}

// reported waits until every host has said what it has since now, and makes the
// rows old enough to be compared with that.
func reported(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	var since time.Time
	must(t, c.DB.Pool.QueryRow(t.Context(), `SELECT now()`).Scan(&since))
	c.Eventually("every host has reported", cloud.Patience, func(ctx context.Context) error {
		var silent int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM compute.hosts WHERE last_seen < $1`, since).Scan(&silent)
		if err == nil && silent > 0 {
			err = fmt.Errorf("%d have not", silent)
		}
		return err
	})
	_, err := c.DB.Pool.Exec(t.Context(), `UPDATE compute.servers SET updated_at = updated_at - interval '1 min'`)
	must(t, err)
}

func is(t *testing.T, c *cloud.Cloud, status string, servers ...string) {
	t.Helper()
	for _, id := range servers {
		c.Eventually(id+" is "+status, cloud.Patience, func(ctx context.Context) error { return c.Is(ctx, id, status) })
	}
}

func action(t *testing.T, c *cloud.Cloud, server, name string) {
	t.Helper()
	must(t, c.Do(t.Context(), http.MethodPost, "/v2.1/servers/"+server+"/action", map[string]any{name: nil}, http.StatusAccepted, nil))
}

// run runs a program of PostgreSQL's client.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s (of the package postgresql-client): %v\n%s", program, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
