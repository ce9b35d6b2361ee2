package hosts

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func open(t *testing.T) (*Registry, *store.DB) {
	t.Helper()
	db, err := store.Open(t.Context(), testenv.Database(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return New(db, engine.New(db, compute.Resource())), db
}

func registration(name string, incarnation int64, instance string) hostlink.Registration {
	return hostlink.Registration{Name: name, Instance: instance, Driver: "simulated", LinkAddress: "127.0.0.1:9",
		Report: hostlink.Report{Incarnation: incarnation, VCPUs: 8, MemoryMB: 4096, DiskGB: 100,
			Guests: []hostlink.Guest{{ServerID: "g", PowerState: 1}}, Steps: []string{"libvirt.Build"}}}
}

func TestWhoMayBeAHost(t *testing.T) {
	t.Parallel()
	r, db := open(t)
	id := uuid.NewString()
	for _, c := range []struct {
		name string
		id   string
		in   hostlink.Registration
		code string // of the refusal
	}{
		{"new", id, registration("a", 2, "x"), ""},
		{"said again", id, registration("a", 2, "x"), ""},
		{"a copy of its folder", id, registration("a", 2, "y"), "IncarnationTaken"},
		{"a stale process", id, registration("a", 1, "x"), "StaleIncarnation"},
		{"its next start", id, registration("a", 3, "z"), ""},
		{"renamed while empty", id, registration("b", 4, "z"), ""},
		{"another under its name", uuid.NewString(), registration("b", 1, "q"), "HostNameTaken"},
	} {
		_, err := r.Register(t.Context(), c.id, c.in)
		if got := code(err); got != c.code || c.code != "" && !faults.Is(err, faults.Conflict) {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
		}
	}
	if _, err := db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET servers = 1 WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(t.Context(), id, registration("c", 5, "z")); code(err) != "HostRenamed" {
		t.Errorf("renamed with servers: %v", err)
	}
}

func code(err error) string {
	var f *faults.Error
	if !errors.As(err, &f) {
		return ""
	}
	return f.Code
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	r, db := open(t)
	id := uuid.NewString()
	in := registration("a", 2, "x")
	if _, err := r.Heartbeat(t.Context(), id, in.Report); !faults.Is(err, faults.NotFound) {
		t.Errorf("before it has registered: %v, want not found", err)
	}
	if _, err := r.Register(t.Context(), id, in); err != nil {
		t.Fatal(err)
	}
	in.Report.VCPUs = 16
	in.Report.Resources = map[string]provider.Inventory{"CUSTOM_GOLD": {Total: 2, Ratio: 1, MinUnit: 1, MaxUnit: 2, StepSize: 1}}
	in.Report.Traits = []string{"CUSTOM_NEAR"}
	answer, err := r.Heartbeat(t.Context(), id, in.Report)
	if err != nil || len(answer.Debts) != 0 || answer.Debts == nil {
		t.Errorf("heartbeat: %+v, %v", answer, err)
	}
	host, err := compute.GetHost(t.Context(), db.Pool, id)
	if err != nil {
		t.Fatal(err)
	}
	var kept inventory
	if err := json.Unmarshal(host.Inventory, &kept); err != nil {
		t.Fatal(err)
	}
	want := inventory{Guests: in.Report.Guests, Steps: in.Report.Steps, Resources: in.Report.Resources, Traits: in.Report.Traits}
	if host.VCPUs != 16 || host.LinkAddress != "127.0.0.1:9" || !host.Up(0) || !reflect.DeepEqual(kept, want) {
		t.Errorf("host %+v, inventory %+v", host, kept)
	}
	wrong := in.Report
	wrong.Resources = map[string]provider.Inventory{"CUSTOM_GOLD": {Total: -1}}
	if _, err := r.Heartbeat(t.Context(), id, wrong); !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), "resources.CUSTOM_GOLD.total -1") {
		t.Errorf("of resources that nobody can have: %v, want invalid", err)
	}
	if _, err := r.Register(t.Context(), id, registration("a", 3, "y")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Heartbeat(t.Context(), id, in.Report); !faults.Is(err, faults.Superseded) {
		t.Errorf("of the stale process: %v, want superseded", err)
	}
	if err := r.Paid(t.Context(), id, "server/x/build/y", 1); !faults.Is(err, faults.NotFound) {
		t.Errorf("a debt that is none: %v, want not found", err)
	}
}

// A host that is no more is forgotten, unless something is on it.
func TestLeave(t *testing.T) {
	t.Parallel()
	r, db := open(t)
	id := uuid.NewString()
	if _, err := r.Register(t.Context(), id, registration("a", 1, "x")); err != nil {
		t.Fatal(err)
	}
	server := computetest.AddServer(t, db, "p").ID
	computetest.InTx(t, db, func(tx store.Tx) error {
		_, err := compute.ClaimOnHost(t.Context(), tx, server, id, "op", compute.Claim{})
		return err
	})
	if err := r.Leave(t.Context(), id); code(err) != "HostInUse" {
		t.Errorf("with a claim: %v", err)
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.ReleaseClaim(t.Context(), tx, server, id, false) })
	for range 2 {
		if err := r.Leave(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := compute.GetHost(t.Context(), db.Pool, id); !faults.Is(err, faults.NotFound) {
		t.Errorf("afterwards: %v", err)
	}
}
