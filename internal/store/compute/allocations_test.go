package compute_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// holding does something in a transaction that holds the server's row, as all do
// that claim and release.
func holding(t testing.TB, db *store.DB, server string, act func(tx store.Tx) error) error {
	return db.InTx(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT FROM compute.servers WHERE id = $1 FOR UPDATE`, server); err != nil {
			return err
		}
		return act(tx)
	})
}

func claim(t testing.TB, db *store.DB, server, host string, r compute.Room) (ok bool, err error) {
	err = holding(t, db, server, func(tx store.Tx) (err error) {
		ok, err = compute.ClaimOnHost(t.Context(), tx, server, host, "op", compute.Claim{Room: r})
		return err
	})
	return ok, err
}

func release(t testing.TB, db *store.DB, server, host string) error {
	return holding(t, db, server, func(tx store.Tx) error { return compute.ReleaseClaim(t.Context(), tx, server, host, false) })
}

// 40 claims at once on a host with room for 16: 16 have it.
func TestConcurrentClaimsStopExactlyAtTheCapacity(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	host := computetest.AddHost(t, db, "h", compute.Report{VCPUs: 4, MemoryMB: 100000, DiskGB: 1000})
	servers := make([]string, 40)
	for i := range servers {
		s := computetest.NewServer("p")
		computetest.InTx(t, db, func(tx store.Tx) error { return compute.InsertServer(t.Context(), tx, s) })
		servers[i] = s.ID
	}
	var took atomic.Int64
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			ok, err := claim(t, db, s, host, compute.Room{VCPUs: 1, MemoryMB: 10, DiskGB: 1})
			if err != nil {
				t.Error(err)
			}
			if ok {
				took.Add(1)
			}
		})
	}
	wg.Wait()
	if took.Load() != 16 {
		t.Errorf("%d claims on 4 CPUs promised four times, want 16", took.Load())
	}
	computetest.CheckSums(t, db)
}

// Whatever is claimed, claimed again and released at once, sums are always the
// allocations' and never above capacity.
func TestSumsAreAlwaysTheAllocations(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	hosts := []string{
		computetest.AddHost(t, db, "a", compute.Report{VCPUs: 2, MemoryMB: 2048 + 512, DiskGB: 20}),
		computetest.AddHost(t, db, "b", compute.Report{VCPUs: 1, MemoryMB: 4096 + 512, DiskGB: 10}),
	}
	var servers []string
	for range 12 {
		s := computetest.NewServer("p")
		computetest.InTx(t, db, func(tx store.Tx) error { return compute.InsertServer(t.Context(), tx, s) })
		servers = append(servers, s.ID)
	}
	type step struct {
		server, host string
		room         compute.Room
		release      bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				server: rapid.SampledFrom(servers).Draw(rt, "server"),
				host:   rapid.SampledFrom(hosts).Draw(rt, "host"),
				room: compute.Room{
					VCPUs:    rapid.IntRange(0, 3).Draw(rt, "vcpus"),
					MemoryMB: rapid.Int64Range(0, 3000).Draw(rt, "memory"),
					DiskGB:   rapid.Int64Range(0, 12).Draw(rt, "disk"),
				},
				release: rapid.Bool().Draw(rt, "release"),
			}
		}), 1, 12).Draw(rt, "steps")
		var wg sync.WaitGroup
		for _, s := range steps {
			wg.Go(func() {
				err := error(nil)
				if s.release {
					err = release(t, db, s.server, s.host)
				} else {
					_, err = claim(t, db, s.server, s.host, s.room)
				}
				// Other room for a claim that is there is refused by design.
				if err != nil && !faults.Is(err, faults.Conflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		computetest.CheckSums(t, db)
		if t.Failed() {
			rt.Fatalf("after %v", steps)
		}
	})
}

// Row 20 of the failures of the original: each rebuild of a server added its size to what it had claimed
// already, so that a user could fill a host with one server. Here a claim is set:
// however often it is made, it is there once.
func TestAnchor20AClaimIsSetNotAdded(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	host := computetest.AddHost(t, db, "h", computetest.Room)
	s := computetest.AddServer(t, db, "p")
	for range 2 {
		if ok, err := claim(t, db, s.ID, host, s.Size()); !ok || err != nil {
			t.Fatalf("claim: %v %v", ok, err)
		}
	}
	wantHost := func(servers, vcpus int) {
		t.Helper()
		h, err := compute.GetHost(t.Context(), db.Pool, host)
		if err != nil || h.Servers != servers || h.VCPUsUsed != vcpus {
			t.Errorf("host has %d servers with %d CPUs, want %d with %d (%v)", h.Servers, h.VCPUsUsed, servers, vcpus, err)
		}
		computetest.CheckSums(t, db)
	}
	wantHost(1, 1)
	if _, err := claim(t, db, s.ID, host, compute.Room{VCPUs: 2, MemoryMB: 512, DiskGB: 1}); !faults.Is(err, faults.Conflict) {
		t.Errorf("a claim for other room: %v", err)
	}
	wantHost(1, 1)
	for range 2 {
		if err := release(t, db, s.ID, host); err != nil {
			t.Fatal(err)
		}
		wantHost(0, 0)
	}
}

func TestWhatAHostHasNoRoomFor(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := computetest.AddServer(t, db, "p")
	for _, c := range []struct {
		name string
		host func(*testing.T, string)
		room compute.Room
		want bool
	}{
		{"everything there is", nil, compute.Room{VCPUs: 8, MemoryMB: 16384, DiskGB: 200}, true},
		{"what is reserved", nil, compute.Room{VCPUs: 1, MemoryMB: 16385, DiskGB: 1}, false},
		{"what isn't asked for", func(t *testing.T, id string) {
			if _, err := db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET vcpus = 0, memory_mb = 0, disk_gb = 0 WHERE id = $1`, id); err != nil {
				t.Fatal(err)
			}
		}, compute.Room{}, true},
		{"more CPUs than there are, though promised four times", nil, compute.Room{VCPUs: 9, MemoryMB: 1, DiskGB: 1}, false},
		{"too much disk", nil, compute.Room{VCPUs: 1, MemoryMB: 1, DiskGB: 201}, false},
		{"a disabled host", func(t *testing.T, id string) {
			computetest.InTx(t, db, func(tx store.Tx) error { return compute.SetHostDisabled(t.Context(), tx, id, true, "repair") })
		}, compute.Room{VCPUs: 1}, false},
		{"a host declared down", func(t *testing.T, id string) {
			computetest.InTx(t, db, func(tx store.Tx) error { return compute.SetHostForcedDown(t.Context(), tx, id, true) })
		}, compute.Room{VCPUs: 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := computetest.AddHost(t, db, c.name, computetest.Room)
			if c.host != nil {
				c.host(t, id)
			}
			if ok, err := claim(t, db, s.ID, id, c.room); ok != c.want || err != nil {
				t.Errorf("claim is %v, want %v (%v)", ok, c.want, err)
			}
			computetest.CheckSums(t, db)
		})
	}
}

// A claim that is handed over while others claim and release keeps the sums; it
// has one consumer at every moment.
func TestAClaimChangesHandsWithoutChangingSums(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	host := computetest.AddHost(t, db, "h", computetest.Room)
	s := computetest.AddServer(t, db, "p")
	if ok, err := claim(t, db, s.ID, host, s.Size()); !ok || err != nil {
		t.Fatalf("claim: %v %v", ok, err)
	}
	handOver := func(from, to string) error {
		return db.InTx(t.Context(), func(tx store.Tx) error { return compute.HandOver(t.Context(), tx, from, to, host) })
	}
	migration := uuid.NewString()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := handOver(s.ID, migration); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	computetest.CheckSums(t, db)

	// On the same host there is room for both, each its consumer's own.
	for range 2 {
		if ok, err := claim(t, db, s.ID, host, compute.Room{VCPUs: 2, MemoryMB: 1024, DiskGB: 2}); !ok || err != nil {
			t.Fatalf("claim beside what was: %v %v", ok, err)
		}
	}
	if h, err := compute.GetHost(t.Context(), db.Pool, host); err != nil || h.Servers != 2 || h.VCPUsUsed != 3 {
		t.Errorf("%d claims with %d CPUs, want 2 with 3 (%v)", h.Servers, h.VCPUsUsed, err)
	}
	if err := release(t, db, s.ID, host); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := handOver(migration, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	computetest.CheckSums(t, db)
	if err := handOver(migration, uuid.NewString()); !faults.Is(err, faults.NotFound) {
		t.Errorf("a claim that is not there: %v", err)
	}
}
