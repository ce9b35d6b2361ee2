package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// resizing has the server of a fence run on a host, and its operation move it to a
// flavor of twice the size; there is another host. It gives the migration.
func (w *world) resizing(f steps.Fence) *compute.Migration {
	w.Helper()
	home := w.mustClaim(f, 1).HostID
	_, id, _, _ := operations.ParseID(f.OperationID)
	m := &compute.Migration{UserID: "u", OperationID: f.OperationID, Type: servers.Resize, Status: servers.MigrationPreMigrating}
	computetest.InTx(w, w.db, func(tx store.Tx) error {
		err := compute.PublishServer(w.Context(), tx, id, steps.ServerOutcome{VMState: new("active"), PowerState: new(1), Host: &home}, nil)
		if err != nil {
			return err
		}
		s, err := compute.GetServer(w.Context(), tx, "", id)
		if err != nil {
			return err
		}
		m.New, m.NewRoom = s.Flavor, s.Size()
		m.New.ID, m.New.VCPUs, m.NewRoom.VCPUs = "twice", 2*s.VCPUs, 2*s.VCPUs
		return compute.StartMigration(w.Context(), tx, s, m)
	})
	computetest.AddHost(w, w.db, "other", computetest.Room)
	return m
}

// holds lists the claims: which consumer has how many CPUs on which host.
func (w *world) holds(s *compute.Server, m *compute.Migration) (claims []string) {
	w.Helper()
	rows, err := w.db.Pool.Query(w.Context(), `SELECT a.consumer_id::text, h.name, a.vcpus FROM compute.allocations a JOIN compute.hosts h ON h.id = a.host_id`)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var consumer, host string
		var cpus int
		if err := rows.Scan(&consumer, &host, &cpus); err != nil {
			w.Fatal(err)
		}
		who := map[string]string{s.ID: "server", m.UUID: "migration"}[consumer]
		claims = append(claims, fmt.Sprintf("%s %s %d", who, host, cpus/s.VCPUs))
	}
	slices.Sort(claims)
	return claims
}

// Row 21 of the failures of the original: what a move holds is the server's where
// it goes to, in the new size, and the migration's where it is; when it is taken
// back nothing is left over and the sums of both hosts are right.
func TestAnchor21AMoveHoldsBothRooms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   steps.MoveClaimIn
		want string
	}{
		"to another host":      {steps.MoveClaimIn{}, "server other 2"},
		"to one that is named": {steps.MoveClaimIn{Host: "other"}, "server other 2"},
		"where it is":          {steps.MoveClaimIn{Host: "h", SameHost: true}, "server h 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			computetest.AddHost(t, w.db, "h", computetest.Room)
			s, f := w.building()
			m := w.resizing(f)
			c.in.Fence, c.in.Attempt = f, 2
			out, err := w.placement.ClaimMove(t.Context(), c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := w.holds(s, m), []string{"migration h 1", c.want}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if moved, err := compute.MigrationOf(t.Context(), w.db.Pool, f.OperationID); err != nil || moved.Dest != out.HostName {
				t.Errorf("%+v, %v", moved, err)
			}
			computetest.CheckSums(t, w.db)
			w.undo(f, 3)
			if _, err := w.placement.HandBack(t.Context(), steps.HandBackIn{Fence: f, Seq: 2}); err != nil {
				t.Error(err)
			}
			if got, want := w.holds(s, m), []string{"server h 1"}; !slices.Equal(got, want) {
				t.Errorf("taken back: %v, want %v", got, want)
			}
			computetest.CheckSums(t, w.db)
		})
	}
}

// Where nothing has room the server stays as it is; one that makes no move has
// nothing to hand over.
func TestAResizeThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	computetest.AddHost(t, w.db, "h", computetest.Room)
	_, f := w.building()
	if _, err := w.placement.ClaimMove(t.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1}); !faults.Is(err, faults.Conflict) {
		t.Errorf("without a move: %v", err)
	}
	w.resizing(f)
	dump := computetest.Dump(t, w.db)
	for _, in := range []steps.MoveClaimIn{{Host: "nowhere"}, {Host: "nowhere", Force: true}} {
		in.Fence, in.Attempt = f, 2
		if _, err := w.placement.ClaimMove(t.Context(), in); !faults.Is(err, faults.NoCapacity) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	if after := computetest.Dump(t, w.db); after != dump {
		t.Errorf("refusals changed\n%s\nto\n%s", dump, after)
	}
}
