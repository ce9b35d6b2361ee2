package compute_test

import (
	"testing"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

func pointer[T any](v T) *T { return &v }

var deleted = steps.ServerOutcome{Deleted: true, Host: pointer(""), PowerState: pointer(0)}

func publish(t testing.TB, db *store.DB, id string, o steps.ServerOutcome, f *steps.Fault) {
	t.Helper()
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.PublishServer(t.Context(), tx, id, o, f) })
}

func TestPublishing(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	host := computetest.AddHost(t, db, "h", computetest.Room)
	id := computetest.AddServer(t, db, "p").ID
	get := func() *compute.Server {
		t.Helper()
		s, err := compute.GetServer(t.Context(), db.Pool, "p", id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	publish(t, db, id, steps.ServerOutcome{VMState: pointer("active"), PowerState: pointer(1), Host: &host, Launched: true}, nil)
	built := get()
	if built.VMState != servers.VMActive || built.TaskState != "" || built.PowerState != servers.PowerRunning ||
		built.HostID != host || built.Host.Name != "h" || !built.Host.Up(0) || built.LaunchedAt == nil || built.Fault != nil {
		t.Errorf("built: %+v", built)
	}

	// Nil fields stay, and a guest that is made anew is launched anew.
	publish(t, db, id, steps.ServerOutcome{PowerState: pointer(4)}, nil)
	if s := get(); s.VMState != servers.VMActive || s.PowerState != servers.PowerShutdown || s.HostID != host || !s.LaunchedAt.Equal(*built.LaunchedAt) {
		t.Errorf("after an outcome that says little: %+v", s)
	}
	publish(t, db, id, steps.ServerOutcome{Launched: true}, nil)
	if s := get(); !s.LaunchedAt.After(*built.LaunchedAt) {
		t.Errorf("made anew, it was launched at %v, at first at %v", s.LaunchedAt, built.LaunchedAt)
	}

	publish(t, db, id, steps.ServerOutcome{VMState: pointer("error"), Host: pointer("")}, &steps.Fault{HTTPCode: 500, Message: "first"})
	publish(t, db, id, steps.ServerOutcome{}, &steps.Fault{HTTPCode: 404, Message: "second"})
	if s := get(); s.HostID != "" || s.Host != nil || s.Fault == nil || s.Fault.Message != "second" || s.Fault.Code != 404 {
		t.Errorf("failed: %+v with fault %+v", s, s.Fault)
	}
	// A fault is shown in ERROR only.
	publish(t, db, id, steps.ServerOutcome{VMState: pointer("active")}, nil)
	if s := get(); s.Fault != nil {
		t.Errorf("an active server shows %+v", s.Fault)
	}
}

// Deleted frees the quota once, however often it is published, and ends all
// further changes.
func TestPublishingADelete(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	computetest.AddServer(t, db, "p")
	id := computetest.AddServer(t, db, "p").ID
	wantUsage(t, db, "p", compute.Delta{Instances: 2, Cores: 2, RAMMB: 1024})
	for range 2 {
		publish(t, db, id, deleted, nil)
		wantUsage(t, db, "p", compute.Delta{Instances: 1, Cores: 1, RAMMB: 512})
	}
	publish(t, db, id, steps.ServerOutcome{VMState: pointer("active")}, nil)
	page, err := compute.ListServers(t.Context(), db.Pool, compute.ListFilter{ProjectID: "p", Deleted: pointer(true)})
	if err != nil || len(page) != 1 || page[0].Status() != "DELETED" || page[0].DeletedAt == nil || page[0].TerminatedAt == nil {
		t.Errorf("deleted servers: %+v (%v)", page, err)
	}
}
