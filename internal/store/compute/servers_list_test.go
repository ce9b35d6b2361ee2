package compute_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// counting counts the statements that go through it.
type counting struct {
	store.Queryer
	statements int
}

func (c *counting) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.statements++
	return c.Queryer.Query(ctx, sql, args...)
}

func (c *counting) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.statements++
	return c.Queryer.QueryRow(ctx, sql, args...)
}

// addMany inserts n servers at different times, every third with the time of
// the one before, and a few attributes spread over them.
func addMany(t testing.TB, db *store.DB, project string, n int) {
	t.Helper()
	all := make([]*compute.Server, n)
	for i := range all {
		all[i] = computetest.NewServer(project)
		all[i].Name = fmt.Sprintf("%s-%c%d", project, 'a'+rune(i%3), i/10)
		all[i].VMState = []servers.VMState{servers.VMActive, servers.VMError, servers.VMStopped}[i%3]
		all[i].TaskState = servers.TaskNone
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		if err := compute.InsertServers(t.Context(), tx, all); err != nil {
			return err
		}
		for i, s := range all {
			if _, err := tx.Exec(t.Context(), `UPDATE compute.servers SET created_at = $2 WHERE id = $1`, s.ID,
				time.Date(2026, 1, 1, 0, 0, i-i%3/2, 0, time.UTC)); err != nil {
				return err
			}
		}
		return nil
	})
}

func list(t testing.TB, q store.Queryer, f compute.ListFilter) []*compute.Server {
	t.Helper()
	page, err := compute.ListServers(t.Context(), q, f)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func ids(page []*compute.Server) []string {
	all := make([]string, len(page))
	for i, s := range page {
		all[i] = s.ID
	}
	return all
}

// Pages of any size in any order, put together, are the whole list in that
// order, each server once, at one statement a page.
func TestPagesMakeTheWholeList(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	addMany(t, db, "p", 30)
	addMany(t, db, "q", 5)
	keys := make([]string, 0, len(compute.SortKeys))
	for k := range compute.SortKeys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	rapid.Check(t, func(rt *rapid.T) {
		f := compute.ListFilter{ProjectID: "p"}
		for range rapid.IntRange(0, 3).Draw(rt, "keys") {
			f.Sort = append(f.Sort, compute.SortKey{Key: rapid.SampledFrom(keys).Draw(rt, "key"), Ascending: rapid.Bool().Draw(rt, "ascending")})
		}
		whole := ids(list(t, db.Pool, f))
		if len(whole) != 30 {
			rt.Fatalf("%d servers in the whole list", len(whole))
		}
		f.Limit = rapid.IntRange(4, 31).Draw(rt, "limit")
		var paged []string
		for {
			q := &counting{Queryer: db.Pool}
			page := list(t, q, f)
			if len(page) == 0 {
				break
			}
			if q.statements != 1 || len(page) > f.Limit {
				rt.Fatalf("%d statements for %d rows of at most %d", q.statements, len(page), f.Limit)
			}
			paged = append(paged, ids(page)...)
			f.Marker = paged[len(paged)-1]
		}
		if !slices.Equal(paged, whole) {
			rt.Fatalf("pages give %v\nwant %v", paged, whole)
		}
	})
}

func TestNewestComesFirst(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	addMany(t, db, "p", 9)
	page := list(t, db.Pool, compute.ListFilter{})
	for i := 1; i < len(page); i++ {
		a, b := page[i-1], page[i]
		if a.CreatedAt.Before(b.CreatedAt) || a.CreatedAt.Equal(b.CreatedAt) && a.ID < b.ID {
			t.Errorf("%s of %v before %s of %v", a.ID, a.CreatedAt, b.ID, b.CreatedAt)
		}
	}
}

func TestMarkersThatAreNone(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	mine, theirs := computetest.AddServer(t, db, "p").ID, computetest.AddServer(t, db, "q").ID
	for _, marker := range []string{theirs, uuid.NewString(), "nonsense"} {
		_, err := compute.ListServers(t.Context(), db.Pool, compute.ListFilter{ProjectID: "p", Marker: marker})
		if !faults.Is(err, faults.Invalid) || faults.As(err).Message != "marker ["+marker+"] not found" {
			t.Errorf("marker %s: %v", marker, err)
		}
	}
	if page := list(t, db.Pool, compute.ListFilter{ProjectID: "p", Marker: mine}); len(page) != 0 {
		t.Errorf("%d servers after the last one", len(page))
	}
	// One that was deleted while the client turned the page still marks it.
	publish(t, db, mine, deleted, nil)
	if page := list(t, db.Pool, compute.ListFilter{ProjectID: "p", Marker: mine}); len(page) != 0 {
		t.Errorf("%d servers after a deleted marker", len(page))
	}
}

func TestNarrowingAList(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	addMany(t, db, "p", 9)
	host := computetest.AddHost(t, db, "h", computetest.Room)
	special := computetest.AddServer(t, db, "p", func(s *compute.Server) {
		s.Name, s.UserID, s.ImageID, s.Flavor.ID, s.AvailabilityZone = "odd+one", "u2", "img2", "f2", "east"
		s.ReservationID, s.KeyName, s.Hostname = "r-2", pointer("k2"), "odd"
	}).ID
	publish(t, db, special, steps.ServerOutcome{VMState: pointer("paused"), PowerState: pointer(3), Host: &host}, nil)
	gone := computetest.AddServer(t, db, "p").ID
	publish(t, db, gone, deleted, nil)
	epoch, future := time.Unix(0, 0), time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		f    compute.ListFilter
		want int
	}{
		"nothing":                 {compute.ListFilter{}, 10},
		"its project":             {compute.ListFilter{ProjectID: "p"}, 10},
		"another project":         {compute.ListFilter{ProjectID: "q"}, 0},
		"name":                    {compute.ListFilter{Match: map[string]string{"display_name": "-a"}}, 3},
		"name with an anchor":     {compute.ListFilter{Match: map[string]string{"display_name": "^a"}}, 0},
		"name, escaped":           {compute.ListFilter{Match: map[string]string{"display_name": `odd\+`}}, 1},
		"user":                    {compute.ListFilter{UserID: "u2"}, 1},
		"image":                   {compute.ListFilter{ImageID: "img2"}, 1},
		"flavor":                  {compute.ListFilter{FlavorID: "f2"}, 1},
		"zone":                    {compute.ListFilter{Match: map[string]string{"availability_zone": "nova"}}, 1},
		"reservation":             {compute.ListFilter{Match: map[string]string{"reservation_id": "r-2"}}, 1},
		"key":                     {compute.ListFilter{Match: map[string]string{"key_name": "k2"}}, 1},
		"hostname":                {compute.ListFilter{Match: map[string]string{"hostname": "odd"}}, 1},
		"host":                    {compute.ListFilter{Host: "h"}, 1},
		"power state":             {compute.ListFilter{Match: map[string]string{"power_state": "3"}}, 1},
		"locked":                  {compute.ListFilter{Locked: pointer(true)}, 0},
		"not locked":              {compute.ListFilter{Locked: pointer(false)}, 10},
		"ids":                     {compute.ListFilter{IDs: []string{special, "none"}}, 1},
		"no ids":                  {compute.ListFilter{IDs: []string{}}, 0},
		"vm states":               {compute.ListFilter{VMStates: []servers.VMState{"active", "error"}}, 6},
		"task states":             {compute.ListFilter{TaskStates: []servers.TaskState{"", "spawning"}}, 10},
		"no such task":            {compute.ListFilter{TaskStates: []servers.TaskState{"spawning"}}, 0},
		"deleted":                 {compute.ListFilter{Deleted: pointer(true)}, 1},
		"changes, deleted too":    {compute.ListFilter{ChangesSince: &epoch}, 11},
		"changes to come":         {compute.ListFilter{ChangesSince: &future}, 0},
		"changes before the time": {compute.ListFilter{ChangesBefore: &epoch}, 0},
		"changes up to now":       {compute.ListFilter{ChangesBefore: &future}, 11},
		"changes of the living":   {compute.ListFilter{ChangesBefore: &future, Deleted: pointer(false)}, 10},
		"a limit":                 {compute.ListFilter{Limit: 4}, 4},
	} {
		if got := len(list(t, db.Pool, c.f)); got != c.want {
			t.Errorf("%s: %d servers, want %d", name, got, c.want)
		}
	}
	for name, f := range map[string]compute.ListFilter{
		"an unknown sort key":         {Sort: []compute.SortKey{{Key: "mood"}}},
		"a broken regular expression": {Match: map[string]string{"display_name": "(("}},
	} {
		if _, err := compute.ListServers(t.Context(), db.Pool, f); !faults.Is(err, faults.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A page of a big project is read from the index, not sorted.
func TestAPageIsReadFromTheIndex(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	fill(t, db, 5000)
	marker := list(t, db.Pool, compute.ListFilter{ProjectID: "p", Limit: 500})[499].ID
	for name, f := range map[string]compute.ListFilter{
		"a project's":    {ProjectID: "p", Limit: 50, Marker: marker},
		"the whole list": {Limit: 50, Marker: marker},
	} {
		q := &explaining{Queryer: db.Pool}
		list(t, q, f)
		if !strings.Contains(q.plan, "Index Scan") || strings.Contains(q.plan, "Seq Scan on servers") || strings.Contains(q.plan, "Sort Key") {
			t.Errorf("%s page:\n%s", name, q.plan)
		}
	}
}

// explaining keeps the plan of the last query.
type explaining struct {
	store.Queryer
	plan string
}

func (e *explaining) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := e.Queryer.Query(ctx, "EXPLAIN "+sql, args...)
	if err != nil {
		return nil, err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	e.plan = strings.Join(lines, "\n")
	return e.Queryer.Query(ctx, sql, args...)
}

// fill adds n servers on four hosts by one statement.
func fill(t testing.TB, db *store.DB, n int) {
	t.Helper()
	model := computetest.AddServer(t, db, "model", func(s *compute.Server) {
		s.Metadata = map[string]string{"role": "web", "tier": "front"}
		s.Flavor.ExtraSpecs = map[string]string{"hw:cpu_policy": "shared"}
	})
	for i := range 4 {
		computetest.AddHost(t, db, fmt.Sprintf("h%d", i), computetest.Room)
	}
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO compute.servers (id, project_id, user_id, name, hostname, flavor, vcpus, memory_mb, disk_gb,
			image_id, metadata, vm_state, host_id, created_at)
		SELECT gen_random_uuid(), 'p', user_id, 'server-' || i, 'server-' || i, flavor, vcpus, memory_mb, disk_gb, image_id,
			metadata, CASE WHEN i %% 10 = 0 THEN 'error' ELSE 'active' END,
			(SELECT id FROM compute.hosts ORDER BY name OFFSET i %% 4 LIMIT 1), now() - i * interval '1 second'
		FROM compute.servers, generate_series(1, %d) i WHERE id = '%s'`, n, model.ID),
		`INSERT INTO compute.server_faults (server_id, code, message) SELECT id, 500, 'No valid host was found.' FROM compute.servers WHERE vm_state = 'error'`,
		`VACUUM ANALYZE compute.servers`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkAPageOf1000Servers(b *testing.B) {
	db := computetest.Open(b)
	fill(b, db, 10000)
	marker := list(b, db.Pool, compute.ListFilter{ProjectID: "p", Limit: 5000})[4999].ID
	b.ResetTimer()
	for b.Loop() {
		if page := list(b, db.Pool, compute.ListFilter{ProjectID: "p", Limit: 1000, Marker: marker}); len(page) != 1000 {
			b.Fatal(len(page))
		}
	}
}
