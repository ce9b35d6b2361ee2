package cli

// The commands over a real database, and no Temporal.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type cloud struct {
	t      *testing.T
	db     *store.DB
	config string
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	dsn := testenv.Database(t)
	db, err := store.Open(t.Context(), dsn, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	c := &cloud{t: t, db: db, config: filepath.Join(t.TempDir(), "holdfast.yaml")}
	if err := os.WriteFile(c.config, fmt.Appendf(nil, "database: {dsn: %q}\n", dsn), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// run gives a command's exit code, its output and what it says to stderr.
func (c *cloud) run(args ...string) (code int, out, said string) {
	c.t.Helper()
	root, env := Root()
	root.AddCommand(Migrate(env), Operations(env), Hosts(env), Flavors(env), Audit(env), Stacks(env))
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = Run(root, append([]string{"--config", c.config}, args...), &stderr)
	return code, stdout.String(), stderr.String()
}

// reconfigure writes the configuration anew.
func (c *cloud) reconfigure(text string) {
	c.t.Helper()
	if err := os.WriteFile(c.config, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// build accepts the build of a new server, as the API does.
func (c *cloud) build(project string) (serverID, operationID string) {
	c.t.Helper()
	server := &compute.Server{ID: uuid.NewString(), ProjectID: project, UserID: "u", Name: "web", Hostname: "web",
		Flavor: compute.Flavor{ID: "1", Name: "tiny", VCPUs: 1, MemoryMB: 512}, VCPUs: 1, MemoryMB: 512,
		VMState: servers.VMBuilding, TaskState: servers.TaskScheduling}
	err := c.db.InTx(c.t.Context(), func(tx store.Tx) error {
		if err := compute.ChargeQuota(c.t.Context(), tx, project, server.Delta()); err != nil {
			return err
		}
		if err := compute.InsertServer(c.t.Context(), tx, server); err != nil {
			return err
		}
		accepted, err := newEngine(c.db).Accept(c.t.Context(), tx, engine.Request{Kind: operations.ServerBuild,
			ResourceID: server.ID, ProjectID: project, UserID: "u", RequestID: "req-1", Input: struct{}{}})
		operationID = accepted.OperationID
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return server.ID, operationID
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	_, first := c.build("p1")
	_, second := c.build("p2")
	for _, k := range []struct {
		args []string
		want []string
	}{
		{nil, []string{second, first}},
		{[]string{"--project", "p1"}, []string{first}},
		{[]string{"--kind", "server.delete"}, []string{}},
		{[]string{"--kind", "server.build", "--state", "pending"}, []string{second, first}},
		{[]string{"--state", "unfinished", "--limit", "1"}, []string{second}},
		{[]string{"--older-than", "1h"}, []string{}},
		{[]string{"--host", uuid.NewString()}, []string{}},
		{[]string{"--error-code", "NoValidHost"}, []string{}},
	} {
		code, out, said := c.run(append([]string{"operations", "list", "--json"}, k.args...)...)
		var found []shownOperation
		if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitDone {
			t.Fatalf("%v: %d %s %s: %v", k.args, code, out, said, err)
		}
		ids := []string{}
		for _, o := range found {
			ids = append(ids, o.ID)
		}
		if !reflect.DeepEqual(ids, k.want) {
			t.Errorf("%v: %v, want %v", k.args, ids, k.want)
		}
	}
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, k := range []struct {
		args string
		code int
		said string
	}{
		{"operations list --kind server.fly", exitInvalid, `there is no kind of operation "server.fly"`},
		{"operations list --state asleep", exitInvalid, `"asleep" is not a state of operations; there are cancelled, cancelling, done`},
		{"operations list --limit 0", exitInvalid, "--limit must be 1 to 1000"},
		{"operations list --limit 1001", exitInvalid, "--limit must be 1 to 1000"},
		{"operations list --limit some", exitInvalid, "some"},
		{"operations list --older-than -1h", exitInvalid, "--older-than must not be negative"},
		{"operations list --host nowhere", exitInvalid, `there is no host named "nowhere"`},
		{"operations list --colour red", exitInvalid, "unknown flag: --colour"},
		{"operations list server/x/build/y", exitInvalid, "server/x/build/y"},
		{"operations watch", exitInvalid, "holdfast operations watch takes ID; it was given 0 arguments"},
		{"operations cancel --project p --limit 0", exitInvalid, "--limit must be 1 to 1000"},
		{"operations cancel server/x/build/y", exitNotFound, "could not be found"},
		{"operations retry --kind server.fly", exitInvalid, "there is no kind"},
		{"operations retry --project p --rate NaN", exitInvalid, "--rate must be more than 0"},
		{"operations list --older-than soon", exitInvalid, "soon"},
		{"operations cancel", exitInvalid, "give the ids of operations, or a filter"},
		{"operations cancel server/x/build/y --project p", exitInvalid, "give ids or a filter, not both"},
		{"operations cancel --project p --rate 0", exitInvalid, "--rate must be more than 0"},
		{"operations show server/x/build/y", exitNotFound, "could not be found"},
		{"operations watch server/x/build/y", exitNotFound, "could not be found"},
		{"flavor set 1 --vcpus 0", exitInvalid, "1 CPU and 1 MiB"},
		{"nonsense", exitInvalid, "unknown command"},
		{"operations nonsense", exitInvalid, "unknown command"},
		{"host nonsense", exitInvalid, "unknown command"},
	} {
		code, _, said := c.run(strings.Fields(k.args)...)
		if code != k.code || !strings.Contains(said, k.said) {
			t.Errorf("%s: %d %q, want %d %q", k.args, code, said, k.code, k.said)
		}
	}
}

// Cancel of a build that nobody has begun ends it at once; retry of it makes a
// new one; both may be repeated.
func TestCancelAndRetry(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	server, build := c.build("p")
	for _, k := range []struct {
		args, want string
	}{
		{"cancel --project p --dry-run", build + "  would be cancelled\n"},
		{"cancel --project p", build + "  cancelled\n"},
		{"cancel " + build, build + "  already finished: cancelled\n"},
		{"retry --dry-run " + build, build + "  would be retried\n"},
	} {
		if code, out, said := c.run(append([]string{"operations"}, strings.Fields(k.args)...)...); code != exitDone || out != k.want {
			t.Fatalf("%s: %d %q %s, want %q", k.args, code, out, said, k.want)
		}
	}
	if s, err := compute.GetServer(t.Context(), c.db.Pool, "", server); err != nil || s.Status() != "ERROR" {
		t.Fatalf("after the cancel: %+v, %v", s, err)
	}

	code, out, said := c.run("operations", "retry", "--json", build)
	var outcomes []outcome
	if err := json.Unmarshal([]byte(out), &outcomes); err != nil || code != exitDone || len(outcomes) != 1 || outcomes[0].Did != "retried" {
		t.Fatalf("%d %s %s: %v", code, out, said, err)
	}
	again, err := newEngine(c.db).Get(t.Context(), c.db.Pool, outcomes[0].Operation)
	if err != nil || again.RetryOf != build || again.Kind != operations.ServerBuild || again.Finished() {
		t.Errorf("the retry is %+v, %v", again, err)
	}
	if s, err := compute.GetServer(t.Context(), c.db.Pool, "", server); err != nil || s.Status() != "BUILD" || s.OperationID != again.ID {
		t.Errorf("after the retry: %+v, %v", s, err)
	}
	code, out, _ = c.run("operations", "retry", build)
	if want := build + "  already retried  " + again.ID + "\n"; code != exitDone || out != want {
		t.Errorf("retried twice: %d %q, want %q", code, out, want)
	}
	code, out, _ = c.run("operations", "watch", build)
	if code != exitCancelled || !strings.Contains(out, "cancelled") {
		t.Errorf("watch: %d %q", code, out)
	}
}

// What ran once is not built anew by an operator.
func TestRetryRefusesWhatRan(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	server, build := c.build("p")
	if code, _, said := c.run("operations", "cancel", build); code != exitDone {
		t.Fatal(said)
	}
	if _, err := c.db.Pool.Exec(t.Context(), `UPDATE compute.servers SET launched_at = now() WHERE id = $1`, server); err != nil {
		t.Fatal(err)
	}
	code, out, _ := c.run("operations", "retry", build)
	if want := build + "  refused: the server has run; only its user may build it anew\n"; code != exitRefused || out != want {
		t.Errorf("%d %q, want %q", code, out, want)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	server, build := c.build("p")
	code, out, said := c.run("operations", "show", "--json", build)
	var shown struct {
		shownOperation
		Events  []shownEvent
		Effects []operations.Effect
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != exitDone {
		t.Fatalf("%d %s %s: %v", code, out, said, err)
	}
	if shown.ID != build || shown.ResourceID != server || shown.State != "pending" || shown.RequestID != "req-1" || len(shown.Events)+len(shown.Effects) != 0 {
		t.Errorf("%+v", shown)
	}
}

func TestFlavorSetAndHostList(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for range 2 {
		if code, _, said := c.run("flavor", "set", "1", "--name", "m1.tiny", "--ram", "256"); code != exitDone {
			t.Fatalf("%d %s", code, said)
		}
	}
	if f, err := compute.GetFlavor(t.Context(), c.db.Pool, "", "1"); err != nil || f.Name != "m1.tiny" || f.MemoryMB != 256 || !f.Public {
		t.Errorf("%+v, %v", f, err)
	}
	err := c.db.InTx(t.Context(), func(tx store.Tx) error {
		return compute.RegisterHost(t.Context(), tx, compute.Registration{ID: uuid.NewString(), Name: "node1", Incarnation: 1, Driver: "simulated",
			Report: compute.Report{VCPUs: 8, MemoryMB: 1024, DiskGB: 10}})
	})
	if err != nil {
		t.Fatal(err)
	}
	code, out, said := c.run("host", "list", "--json")
	var hosts []hostShown
	if err := json.Unmarshal([]byte(out), &hosts); err != nil || code != exitDone || len(hosts) != 1 || hosts[0].Name != "node1" || hosts[0].State != "up" || hosts[0].VCPUs != 8 {
		t.Errorf("%d %s %s: %v", code, out, said, err)
	}
}

// An audit is silent until something is stuck or leaked.
func TestAudit(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	_, build := c.build("p")
	if code, out, said := c.run("audit"); code != exitDone || out != "" || said != "" {
		t.Errorf("%d %q %q", code, out, said)
	}
	if _, err := c.db.Pool.Exec(t.Context(), `UPDATE compute.servers SET operation_id = NULL`); err != nil {
		t.Fatal(err)
	}
	if code, out, said := c.run("audit"); code != exitFailed || !strings.Contains(out, build) || said != "" {
		t.Errorf("%d %q %q", code, out, said)
	}
	code, out, _ := c.run("audit", "--json")
	var report engine.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFailed || len(report.Findings) == 0 || report.Unfinished != 1 {
		t.Errorf("%d %s: %v", code, out, err)
	}
}
