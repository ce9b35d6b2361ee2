package compute_test

import (
	"reflect"
	"testing"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// onHost gives a server that runs on a host with its claim there.
func onHost(t *testing.T, db *store.DB, host string, change ...func(*compute.Server)) *compute.Server {
	t.Helper()
	s := computetest.AddServer(t, db, "p", change...)
	computetest.InTx(t, db, func(tx store.Tx) error {
		if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, "build", compute.Claim{Room: s.Size()}); !ok {
			t.Fatalf("claim: %v", err)
		}
		return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: new("active"), PowerState: new(1), Host: &host}, nil)
	})
	return again(t, db, s.ID)
}

func again(t *testing.T, db *store.DB, id string) *compute.Server {
	t.Helper()
	s, err := compute.GetServerOrDeleted(t.Context(), db.Pool, "", id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resize starts a move of the server to a flavor of this size.
func resize(t *testing.T, db *store.DB, s *compute.Server, cpus int, memory int64) (*compute.Migration, error) {
	t.Helper()
	f := compute.Flavor{ID: "2", Name: "other", VCPUs: cpus, MemoryMB: memory, RootGB: 1}
	m := &compute.Migration{UserID: "u", OperationID: "resize of " + s.ID, Type: servers.Resize, Status: servers.MigrationPreMigrating,
		New: f, NewRoom: compute.Room{VCPUs: cpus, MemoryMB: memory, DiskGB: 1}}
	return m, db.InTx(t.Context(), func(tx store.Tx) error { return compute.StartMigration(t.Context(), tx, s, m) })
}

func settle(t *testing.T, db *store.DB, s *compute.Server, o steps.MigrationOutcome) {
	t.Helper()
	computetest.InTx(t, db, func(tx store.Tx) error {
		return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{Migration: &o}, nil)
	})
}

// A move is charged for the larger of both sizes until it is over: what grows is
// charged at the request, what shrinks is given back at the end.
func TestAMoveIsChargedForTheLargerSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		cpus                    int
		during, confirmed, back int64
	}{{"up", 4, 4, 4, 2}, {"down", 1, 2, 1, 2}, {"the same", 2, 2, 2, 2}} {
		for _, end := range []string{"confirm", "revert", "fail", "delete"} {
			t.Run(c.name+", "+end, func(t *testing.T) {
				t.Parallel()
				db := computetest.Open(t)
				host := computetest.AddHost(t, db, "h", computetest.Room)
				s := onHost(t, db, host, func(s *compute.Server) { s.VCPUs, s.Flavor.VCPUs = 2, 2 })
				cores := func(when string, want int64) {
					t.Helper()
					_, used, err := compute.Usage(t.Context(), db.Pool, "p")
					if err != nil || used.Cores != want {
						t.Errorf("%s: %d cores are charged, want %d (%v)", when, used.Cores, want, err)
					}
				}
				if _, err := resize(t, db, s, c.cpus, 512); err != nil {
					t.Fatal(err)
				}
				cores("after the request", c.during)
				if _, err := resize(t, db, s, c.cpus, 512); !faults.Is(err, faults.Conflict) {
					t.Errorf("a second move at once: %v", err)
				}
				want := c.back
				switch end {
				case "fail":
					settle(t, db, s, steps.MigrationOutcome{Status: "error"})
				case "delete":
					settle(t, db, s, steps.MigrationOutcome{Status: "finished", Flavor: "new", Leftover: true})
					computetest.InTx(t, db, func(tx store.Tx) error {
						return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{Deleted: true}, nil)
					})
					want = 0
				default:
					settle(t, db, s, steps.MigrationOutcome{Status: "finished", Flavor: "new", Leftover: true})
					cores("before it is confirmed", c.during)
					if got := again(t, db, s.ID); got.VCPUs != c.cpus || got.Flavor.ID != "2" {
						t.Errorf("the server has %d CPUs of flavor %s", got.VCPUs, got.Flavor.ID)
					}
					if end == "confirm" {
						settle(t, db, s, steps.MigrationOutcome{Status: "confirmed"})
						want = c.confirmed
					} else {
						settle(t, db, s, steps.MigrationOutcome{Status: "reverted", Flavor: "old"})
					}
				}
				cores("at the end", want)
				if m, err := compute.OpenMigration(t.Context(), db.Pool, s.ID); m != nil || err != nil {
					t.Errorf("a migration is open: %v %v", m, err)
				}
			})
		}
	}
}

// What a move has left on its old host is accounted for while it may be reverted,
// and is a finding once it is over.
func TestAnUnconfirmedMoveAccountsForWhatItLeft(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	e := engine.New(db, compute.Resource())
	from, to := computetest.AddHost(t, db, "from", computetest.Room), computetest.AddHost(t, db, "to", computetest.Room)
	s := onHost(t, db, from)
	if _, err := resize(t, db, s, 1, 512); err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: new("resized"), Host: &to,
			Migration: &steps.MigrationOutcome{Status: "finished", Leftover: true}}, nil)
	})
	for _, c := range []struct {
		status string
		want   int
	}{{"finished", 0}, {"confirmed", 1}} {
		settle(t, db, s, steps.MigrationOutcome{Status: c.status, Leftover: c.want == 0})
		if _, err := db.Pool.Exec(t.Context(), reports(`[{"server_id": "$1", "power_state": 4, "generation": 0}]`), s.ID); err != nil {
			t.Fatal(err)
		}
		if got := findings(t, e)["guest-without-server"]; got != c.want {
			t.Errorf("with the move %s %d guests are of nobody, want %d", c.status, got, c.want)
		}
	}
}

// A move that would grow beyond the quota is refused and leaves nothing.
func TestAMoveBeyondTheQuota(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := onHost(t, db, computetest.AddHost(t, db, "h", computetest.Room))
	before := computetest.Dump(t, db)
	_, err := resize(t, db, s, 21, 512)
	const want = "Quota exceeded for cores: Requested 20, but already used 1 of 20 cores"
	if !faults.Is(err, faults.OverLimit) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if after := computetest.Dump(t, db); after != before {
		t.Errorf("changed to\n%s", after)
	}
}

// Row 22 of the failures of the original: a host that is part of an unconfirmed move can't be deleted.
// A server that waits to be confirmed holds its old room and its old disks, and
// they are found by its rows.
func TestAnchor22AnOpenMoveHoldsItsOldHost(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	a, b := computetest.AddHost(t, db, "a", computetest.Room), computetest.AddHost(t, db, "b", computetest.Room)
	s := onHost(t, db, a)
	m, err := resize(t, db, s, 2, 512)
	if err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		if err := compute.HandOver(t.Context(), tx, s.ID, m.UUID, a); err != nil {
			return err
		}
		if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, b, "op", compute.Claim{Room: m.NewRoom}); !ok {
			t.Fatalf("claim on the new host: %v", err)
		}
		if err := compute.AimMigration(t.Context(), tx, m.OperationID, b, servers.MigrationMigrating); err != nil {
			return err
		}
		return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: new("resized"), Host: &b,
			Migration: &steps.MigrationOutcome{Status: "finished", Flavor: "new", Leftover: true}}, nil)
	})
	brief, err := compute.Brief(t.Context(), db.Pool, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var held []operations.Effect
	for _, e := range brief.Holds {
		held = append(held, operations.Effect{Kind: e.Kind, Ref: e.Ref, Host: e.Host})
	}
	want := map[operations.Effect]bool{
		{Kind: operations.EffectClaim, Ref: m.UUID, Host: a}: true,
		{Kind: operations.EffectClaim, Ref: s.ID, Host: b}:   true,
		{Kind: operations.EffectGuest, Ref: s.ID, Host: a}:   true,
		{Kind: operations.EffectGuest, Ref: s.ID, Host: b}:   true,
	}
	got := map[operations.Effect]bool{}
	for _, e := range held {
		got[e] = true
	}
	if !reflect.DeepEqual(got, want) || held[len(held)-1].Kind != operations.EffectGuest {
		t.Errorf("held %v, want %v", held, want)
	}
	if x := brief.Migration; x == nil || x.UUID != m.UUID || x.Source != a || x.Dest != b || x.OldVMState != "active" || !x.Leftover {
		t.Errorf("the migration is %+v", x)
	}
	for host, text := range map[string]string{
		a: "Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.",
		b: "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
	} {
		err := db.InTx(t.Context(), func(tx store.Tx) error { return compute.DeleteHost(t.Context(), tx, host) })
		if !faults.Is(err, faults.Conflict) || err.Error() != text {
			t.Errorf("delete host: %v, want %s", err, text)
		}
	}
	computetest.CheckSums(t, db)
}

func TestMigrationsAreListedByEveryFilter(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	a, b := computetest.AddHost(t, db, "a", computetest.Room), computetest.AddHost(t, db, "b", computetest.Room)
	first, second := onHost(t, db, a), onHost(t, db, b)
	m1, err := resize(t, db, first, 2, 512)
	if err != nil {
		t.Fatal(err)
	}
	m2, err := resize(t, db, second, 1, 512)
	if err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		if err := compute.AimMigration(t.Context(), tx, m1.OperationID, b, servers.MigrationMigrating); err != nil {
			return err
		}
		return compute.SetMigrationStatus(t.Context(), tx, second.ID, servers.MigrationError)
	})
	updated := *mustMigration(t, db, m1.OperationID).UpdatedAt
	later := updated.Add(time.Second)
	for name, c := range map[string]struct {
		filter compute.MigrationFilter
		want   []int64
	}{
		"all":            {compute.MigrationFilter{}, []int64{m2.ID, m1.ID}},
		"host, source":   {compute.MigrationFilter{Host: "a"}, []int64{m1.ID}},
		"host, either":   {compute.MigrationFilter{Host: "b"}, []int64{m2.ID, m1.ID}},
		"source":         {compute.MigrationFilter{Source: "b"}, []int64{m2.ID}},
		"server":         {compute.MigrationFilter{ServerID: first.ID}, []int64{m1.ID}},
		"no such server": {compute.MigrationFilter{ServerID: "x"}, nil},
		"project":        {compute.MigrationFilter{ProjectID: "other"}, nil},
		"user":           {compute.MigrationFilter{UserID: "u"}, []int64{m2.ID, m1.ID}},
		"type":           {compute.MigrationFilter{Type: servers.Evacuation}, nil},
		"status":         {compute.MigrationFilter{Statuses: []servers.MigrationStatus{"error"}}, []int64{m2.ID}},
		"limit":          {compute.MigrationFilter{Limit: 1}, []int64{m2.ID}},
		"marker":         {compute.MigrationFilter{Marker: m2.UUID}, []int64{m1.ID}},
		"changed since":  {compute.MigrationFilter{ChangesSince: &later}, nil},
		"changed before": {compute.MigrationFilter{ChangesBefore: &later}, []int64{m2.ID, m1.ID}},
	} {
		found, err := compute.ListMigrations(t.Context(), db.Pool, c.filter)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []int64
		for _, m := range found {
			got = append(got, m.ID)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for _, marker := range []string{"x", first.ID} {
		if _, err := compute.ListMigrations(t.Context(), db.Pool, compute.MigrationFilter{Marker: marker}); !faults.Is(err, faults.Invalid) {
			t.Errorf("marker %s: %v", marker, err)
		}
	}
}

func mustMigration(t *testing.T, db *store.DB, operationID string) *compute.Migration {
	t.Helper()
	m, err := compute.MigrationOf(t.Context(), db.Pool, operationID)
	if err != nil || m == nil {
		t.Fatalf("the migration of %s: %v %v", operationID, m, err)
	}
	return m
}
