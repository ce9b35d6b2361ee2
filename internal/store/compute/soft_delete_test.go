package compute_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// A server is charged exactly while it is neither deleted nor soft-deleted,
// whatever way it takes, and however often each is said.
func TestWhatIsSoftDeletedIsNotCharged(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := computetest.AddServer(t, db, "p")
	used := func() string {
		t.Helper()
		_, used, err := compute.Usage(t.Context(), db.Pool, "p")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(used)
	}
	const all, none = "{1 1 512}", "{0 0 0}"
	publish := func(vm string) func(store.Tx) error {
		return func(tx store.Tx) error {
			return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: &vm}, nil)
		}
	}
	restore := func(tx store.Tx) error {
		locked, err := compute.LockServer(t.Context(), tx, "", s.ID)
		if err != nil {
			return err
		}
		return compute.RestoreServer(t.Context(), tx, locked)
	}
	asItWas := func(tx store.Tx) error {
		return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{}, nil)
	}
	for i, c := range []struct {
		do   func(store.Tx) error
		want string
	}{
		{publish("active"), all},
		{publish("soft-delete"), none},
		{publish("soft-delete"), none},
		{restore, all},
		{publish("active"), all},
		{publish("soft-delete"), none},
		{restore, all},
		{asItWas, none},         // the restore failed
		{publish("error"), all}, // an administrator said so
		{publish("soft-delete"), none},
		{func(tx store.Tx) error {
			return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{Deleted: true}, nil)
		}, none},
	} {
		computetest.InTx(t, db, c.do)
		if got := used(); got != c.want {
			t.Errorf("%d: charged %s, want %s", i, got, c.want)
		}
	}
	for _, probe := range compute.Probes {
		if probe.Name == "quota-usage" {
			found, err := probe.Run(t.Context(), db.Pool)
			if err != nil || len(found) > 0 {
				t.Errorf("the audit says %v, %v", found, err)
			}
		}
	}
}

// A restore beyond the quota changes nothing.
func TestARestoreBeyondTheQuota(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := computetest.AddServer(t, db, "p")
	aside := "soft-delete"
	computetest.InTx(t, db, func(tx store.Tx) error {
		if err := compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: &aside}, nil); err != nil {
			return err
		}
		return compute.SetLimit(t.Context(), tx, "p", "instances", 0)
	})
	err := db.InTx(t.Context(), func(tx store.Tx) error { return compute.RestoreServer(t.Context(), tx, s) })
	if !faults.Is(err, faults.OverLimit) {
		t.Errorf("%v", err)
	}
}
