package cli

// Every flag of the operations commands, as its user types it.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// mixed is a cloud with one operation of each sort that the flags tell apart.
type mixed struct {
	*cloud
	pending, running, failed, done string
}

func newMixed(t *testing.T) *mixed {
	t.Helper()
	m := &mixed{cloud: newCloud(t)}
	host := uuid.NewString()
	err := m.db.InTx(t.Context(), func(tx store.Tx) error {
		return compute.RegisterHost(t.Context(), tx, compute.Registration{ID: host, Name: "node1", Incarnation: 1, Report: compute.Report{VCPUs: 8}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		id      *string
		project string
		then    string
	}{
		{&m.done, "p1", `finished_at = now(), result = 'done', created_at = now() - interval '3 h'`},
		{&m.failed, "p1", `finished_at = now(), result = 'failed', error_code = 'NoValidHost', created_at = now() - interval '2 h'`},
		{&m.running, "p2", `dispatched_at = now(), host = '` + host + `'`},
		{&m.pending, "p2", `kind = kind`},
	} {
		_, *o.id = m.build(o.project)
		m.exec(`UPDATE engine.operations SET `+o.then+` WHERE id = $1`, *o.id)
	}
	m.exec(`UPDATE compute.servers SET operation_id = NULL, vm_state = 'error', task_state = NULL WHERE project_id = 'p1'`)
	return m
}

func (c *cloud) exec(sql string, args ...any) {
	c.t.Helper()
	if _, err := c.db.Pool.Exec(c.t.Context(), sql, args...); err != nil {
		c.t.Fatal(err)
	}
}

// chosen gives the ids in the output of a command that succeeds.
func (c *cloud) chosen(args ...string) []string {
	c.t.Helper()
	code, out, said := c.run(append([]string{"operations"}, args...)...)
	var found []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitDone {
		c.t.Fatalf("%v: %d %s %s: %v", args, code, out, said, err)
	}
	ids := []string{}
	for _, o := range found {
		ids = append(ids, o.ID)
	}
	return ids
}

// The same flags choose the same operations for list, cancel and retry; the
// latter two look among those that they are for, if no --state says otherwise.
func TestEveryFilterChooses(t *testing.T) {
	t.Parallel()
	m := newMixed(t)
	all := []string{m.pending, m.running, m.failed, m.done}
	for _, k := range []struct {
		flags string
		list  []string
	}{
		{"--kind server.build", all},
		{"--kind server.stop", nil},
		{"--state pending", []string{m.pending}},
		{"--state running", []string{m.running}},
		{"--state unfinished", []string{m.pending, m.running}},
		{"--state failed", []string{m.failed}},
		{"--state done", []string{m.done}},
		{"--state held", nil},
		{"--project p1", []string{m.failed, m.done}},
		{"--project nobodys", nil},
		{"--host node1", []string{m.running}},
		{"--older-than 90m", []string{m.failed, m.done}},
		{"--older-than 150m", []string{m.done}},
		{"--error-code NoValidHost", []string{m.failed}},
		{"--error-code Other", nil},
		{"--kind server.build --limit 1", all[:1]},
		{"--project p1 --state failed --error-code NoValidHost --older-than 1h", []string{m.failed}},
	} {
		flags := strings.Fields(k.flags)
		want := append([]string{}, k.list...)
		if got := m.chosen(append([]string{"list", "--json"}, flags...)...); !slices.Equal(got, want) {
			t.Errorf("list %s: %v, want %v", k.flags, got, want)
		}
		if strings.Contains(k.flags, "--state") {
			if got := m.chosen(append([]string{"cancel", "--json", "--dry-run"}, flags...)...); !slices.Equal(got, want) {
				t.Errorf("cancel %s: %v, want %v", k.flags, got, want)
			}
		}
	}
	for _, k := range []struct {
		args string
		want []string
	}{
		{"cancel --dry-run --json --kind server.build", []string{m.pending, m.running}},
		{"cancel --dry-run --json --host node1", []string{m.running}},
		{"retry --dry-run --json --project p1", []string{m.failed}},
		{"retry --dry-run --json --project p2", []string{}},
	} {
		if got := m.chosen(strings.Fields(k.args)...); !slices.Equal(got, k.want) {
			t.Errorf("%s: %v, want %v", k.args, got, k.want)
		}
	}
	if n := m.count(`SELECT count(*) FROM engine.operations WHERE cancel_requested_at IS NOT NULL OR retry_of IS NOT NULL`); n != 0 {
		t.Errorf("--dry-run has changed %d operations", n)
	}
	m.exec(`UPDATE engine.operations SET cancel_requested_at = now() WHERE id = $1`, m.running)
	if got := m.chosen("list", "--json", "--state", "cancelling"); !slices.Equal(got, []string{m.running}) {
		t.Errorf("cancelling: %v, want %s", got, m.running)
	}
}

func (c *cloud) count(sql string) (n int) {
	c.t.Helper()
	if err := c.db.Pool.QueryRow(c.t.Context(), sql).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// Cancel and retry by filter do it to each, at most as many as --limit says and
// no faster than --rate, and the second time find nothing left to do.
func TestBulkIsBoundedAndIdempotent(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for range 4 {
		c.build("p")
	}
	if got := c.chosen("cancel", "--json", "--project", "p", "--limit", "1"); len(got) != 1 {
		t.Errorf("--limit 1 has cancelled %v", got)
	}
	began := time.Now()
	if got := c.chosen("cancel", "--json", "--project", "p", "--rate", "10"); len(got) != 3 {
		t.Errorf("the rest that was cancelled: %v", got)
	}
	// The bound is one from below: no machine is too slow for it.
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("3 at 10 a second were done after %s", took)
	}
	if got := c.chosen("cancel", "--json", "--project", "p"); len(got) != 0 {
		t.Errorf("cancelled twice: %v", got)
	}
	if n := c.count(`SELECT count(*) FROM engine.operations WHERE result = 'cancelled' AND cancel_requested_by = 'holdfast operations'`); n != 4 {
		t.Errorf("%d are cancelled, want 4", n)
	}
	for round, want := range []string{"retried", "already retried"} {
		code, out, said := c.run("operations", "retry", "--json", "--project", "p", "--state", "cancelled", "--rate", "1000")
		var did []outcome
		if err := json.Unmarshal([]byte(out), &did); err != nil || code != exitDone || len(did) != 4 {
			t.Fatalf("round %d: %d %s %s: %v", round, code, out, said, err)
		}
		for _, o := range did {
			if o.Did != want || o.Operation == "" {
				t.Errorf("round %d: %+v, want %q", round, o, want)
			}
		}
	}
	if n := c.count(`SELECT count(*) FROM engine.operations WHERE retry_of IS NOT NULL`); n != 4 {
		t.Errorf("%d retries were made, want 4", n)
	}
}

// Watch ends when the operation does, and its exit code says how that was.
func TestWatchEndsAsTheOperationDoes(t *testing.T) {
	t.Parallel()
	for result, want := range map[operations.Result]int{
		operations.ResultDone:       exitDone,
		operations.ResultFailed:     exitFailed,
		operations.ResultCancelled:  exitCancelled,
		operations.ResultSuperseded: exitSuperseded,
	} {
		t.Run(string(result), func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			_, id := c.build("p")
			type end struct {
				code int
				out  string
			}
			ended := make(chan end, 1)
			go func() {
				code, out, _ := c.run("operations", "watch", "--json", id)
				ended <- end{code, out}
			}()
			// It is still watched while nothing has ended it.
			select {
			case e := <-ended:
				t.Fatalf("watch has left early: %+v", e)
			case <-time.After(1500 * time.Millisecond):
			}
			c.exec(`UPDATE engine.operations SET finished_at = now(), result = $2, message = 'so it ended' WHERE id = $1`, id, result)
			e := <-ended
			if e.code != want || !strings.Contains(e.out, fmt.Sprintf(`"state": %q`, result)) || !strings.Contains(e.out, "so it ended") {
				t.Errorf("%d, want %d\n%s", e.code, want, e.out)
			}
		})
	}
}

// A refusal of one keeps no other from it, and the exit code tells.
func TestOneRefusalKeepsNoOther(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	server, ran := c.build("p")
	_, fresh := c.build("p")
	c.chosen("cancel", "--json", "--project", "p", "--rate", "1000")
	c.exec(`UPDATE compute.servers SET launched_at = now() WHERE id = $1`, server)
	code, out, _ := c.run("operations", "retry", ran, fresh, "--rate", "1000")
	lines := strings.Split(out, "\n")
	if code != exitRefused || len(lines) != 3 || !strings.HasPrefix(lines[0], ran+"  refused: ") || !strings.HasPrefix(lines[1], fresh+"  retried  ") {
		t.Errorf("%d\n%s", code, out)
	}
	_, known := c.build("q")
	code, out, _ = c.run("operations", "cancel", "nope", known, "--rate", "1000")
	if want := "nope  refused: operation nope could not be found\n" + known + "  cancelled\n"; code != exitNotFound || out != want {
		t.Errorf("%d\n%s, want\n%s", code, out, want)
	}
}

// The database is away: every command says so and gives the code for it.
func TestWithoutADatabase(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.reconfigure("database: {dsn: \"postgres://nobody@127.0.0.1:1/none?connect_timeout=2\"}\n")
	for _, args := range []string{"operations list", "operations show x", "operations cancel --project p", "audit", "host list"} {
		code, _, said := c.run(strings.Fields(args)...)
		if code != exitUnavailable || !strings.Contains(said, "the database can't be reached") {
			t.Errorf("%s: %d %q", args, code, said)
		}
	}
	c.reconfigure("{}\n")
	if code, _, said := c.run("operations", "list"); code != exitInvalid || !strings.Contains(said, "database.dsn is not set") {
		t.Errorf("%d %q", code, said)
	}
}

// Each command's help says what its exit codes are.
func TestHelpHasExitCodes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, args := range [][]string{{"--help"}, {"operations", "--help"}, {"operations", "cancel", "--help"}, {"operations", "retry", "--help"}, {"audit", "--help"}} {
		if code, out, _ := c.run(args...); code != exitDone || !strings.Contains(out, exitCodes) {
			t.Errorf("%v: %d\n%s", args, code, out)
		}
	}
}
