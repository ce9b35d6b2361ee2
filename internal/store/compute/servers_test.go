package compute_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// Every field that is inserted is read back, and what the database fills in is
// handed to the caller.
func TestAServerIsReadAsItWasInserted(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	text := func(s string) *string { return &s }
	in := &compute.Server{
		ID: uuid.NewString(), ProjectID: "p", UserID: "u", Name: "web", Hostname: "web", Description: text("front"),
		Flavor: compute.Flavor{ID: "2", Name: "m1.small", VCPUs: 2, MemoryMB: 2048, RootGB: 20, SwapMB: 100, Public: true,
			RXTXFactor: 1, ExtraSpecs: map[string]string{"hw:cpu_policy": "shared"}},
		VCPUs: 2, MemoryMB: 2048, DiskGB: 21, ImageID: uuid.NewString(),
		ImageProperties: map[string]string{"hw_disk_bus": "virtio"},
		Metadata:        map[string]string{"role": "web"}, SystemMetadata: map[string]string{"a": "b"},
		KeyName: text("key"), ConfigDrive: true, AvailabilityZone: "nova",
		Placement:     compute.Placement{Host: "h", Hints: map[string]any{"group": "g"}},
		ReservationID: "r-1", LaunchIndex: 3,
		VMState: servers.VMBuilding, TaskState: servers.TaskScheduling,
		AccessIPv4: "192.0.2.7", AccessIPv6: "2001:db8::7",
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.InsertServer(t.Context(), tx, in) })
	if time.Since(in.CreatedAt) > time.Minute || in.UpdatedAt.IsZero() {
		t.Errorf("created_at %v, updated_at %v", in.CreatedAt, in.UpdatedAt)
	}
	out, err := compute.GetServer(t.Context(), db.Pool, "p", in.ID)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(in)
	if got, _ := json.Marshal(out); string(got) != string(want) {
		t.Errorf("read back\n%s\nwant\n%s", got, want)
	}
	if out.Status() != "BUILD" {
		t.Errorf("status %s", out.Status())
	}
}

func TestWhoFindsAServer(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	live := computetest.AddServer(t, db, "p").ID
	gone := computetest.AddServer(t, db, "p").ID
	publish(t, db, gone, deleted, nil)
	for _, c := range []struct {
		name, project, id string
		found             bool
	}{
		{"its project", "p", live, true},
		{"an administrator", "", live, true},
		{"another project", "q", live, false},
		{"a deleted one", "p", gone, false},
		{"an id that is none", "p", "web'1", false},
		{"a stranger's id", "p", uuid.NewString(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compute.GetServer(t.Context(), db.Pool, c.project, c.id)
			if c.found && err != nil {
				t.Error(err)
			}
			if !c.found && (!faults.Is(err, faults.NotFound) || faults.As(err).Message != "Instance "+c.id+" could not be found.") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSmallChangesOfAServer(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	id := computetest.AddServer(t, db, "p").ID
	get := func() *compute.Server {
		s, err := compute.GetServer(t.Context(), db.Pool, "", id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := get().UpdatedAt
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.SetTask(t.Context(), tx, id, servers.TaskSpawning) })
	if s := get(); s.TaskState != servers.TaskSpawning || s.VMState != servers.VMBuilding || !s.UpdatedAt.After(before) {
		t.Errorf("%s %s updated %v", s.VMState, s.TaskState, s.UpdatedAt)
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.ResetState(t.Context(), tx, id, servers.VMActive) })
	if s := get(); s.TaskState != servers.TaskNone || s.VMState != servers.VMActive {
		t.Errorf("%s %s after a reset", s.VMState, s.TaskState)
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		return compute.SetMetadata(t.Context(), tx, id, map[string]string{"a": "1"})
	})
	if s := get(); len(s.Metadata) != 1 || s.Metadata["a"] != "1" {
		t.Errorf("metadata %v", s.Metadata)
	}
	err := db.InTx(t.Context(), func(tx store.Tx) error {
		return compute.SetTask(t.Context(), tx, uuid.NewString(), servers.TaskNone)
	})
	if !faults.Is(err, faults.NotFound) {
		t.Errorf("a change of a server that isn't there: %v", err)
	}
}

// A locked row can't be had by another transaction until the first has ended.
func TestALockedServerIsHeld(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	host := computetest.AddHost(t, db, "h", computetest.Room)
	id := computetest.AddServer(t, db, "p").ID
	publish(t, db, id, steps.ServerOutcome{VMState: pointer("error"), Host: &host}, &steps.Fault{HTTPCode: 500, Message: "broken"})
	free := func() (n int) {
		t.Helper()
		if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT FROM compute.servers WHERE id = $1 FOR UPDATE SKIP LOCKED) s`, id).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		s, err := compute.LockServer(t.Context(), tx, "p", id)
		if err == nil && (s.Host.Name != "h" || s.Fault.Message != "broken") {
			t.Errorf("locked server %+v", s)
		}
		if free() != 0 {
			t.Error("the row is free while it is locked")
		}
		return err
	})
	if free() != 1 {
		t.Error("the row is held after the transaction")
	}
}
