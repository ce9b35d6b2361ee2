package compute_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// 40 creates at once of which the quota allows 10: 10 rows, 10 charged, and 30
// refusals in the original's words.
func TestConcurrentCreatesStopExactlyAtTheQuota(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	var created, refused atomic.Int64
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			err := db.InTx(t.Context(), func(tx store.Tx) error {
				s := computetest.NewServer("p")
				if err := compute.ChargeQuota(t.Context(), tx, "p", s.Delta()); err != nil {
					return err
				}
				return compute.InsertServer(t.Context(), tx, s)
			})
			switch {
			case err == nil:
				created.Add(1)
			case faults.Is(err, faults.OverLimit) && faults.As(err).Message ==
				"Quota exceeded for instances: Requested 1, but already used 10 of 10 instances":
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created.Load() != 10 || refused.Load() != 30 {
		t.Errorf("%d created and %d refused, want 10 and 30", created.Load(), refused.Load())
	}
	page, err := compute.ListServers(t.Context(), db.Pool, compute.ListFilter{ProjectID: "p"})
	if err != nil || len(page) != 10 {
		t.Errorf("%d rows, want 10 (%v)", len(page), err)
	}
	wantUsage(t, db, "p", compute.Delta{Instances: 10, Cores: 10, RAMMB: 5120})
}

func wantUsage(t *testing.T, db *store.DB, project string, want compute.Delta) {
	t.Helper()
	_, used, err := compute.Usage(t.Context(), db.Pool, project)
	if err != nil || used != want {
		t.Errorf("usage of %s is %+v, want %+v (%v)", project, used, want, err)
	}
}

func TestChargingServersTakesAsManyAsFit(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	each := compute.Delta{Instances: 1, Cores: 4, RAMMB: 1024}
	for _, c := range []struct {
		name        string
		before      compute.Delta
		least, most int
		want        int
		message     string
	}{
		{"all of them", compute.Delta{}, 1, 5, 5, ""},
		{"cores for three", compute.Delta{Instances: 1, Cores: 8}, 1, 5, 3, ""},
		{"instances for one", compute.Delta{Instances: 9}, 1, 5, 1, ""},
		{"fewer than the least", compute.Delta{Instances: 1, Cores: 8}, 4, 5, 0,
			"Quota exceeded for cores: Requested 20, but already used 8 of 20 cores"},
		{"two resources at once", compute.Delta{Instances: 10, Cores: 20}, 1, 1, 0,
			"Quota exceeded for cores, instances: Requested 4, 1, but already used 20, 10 of 20, 10 cores, instances"},
		{"a range that doesn't fit", compute.Delta{Instances: 10}, 1, 2, 0,
			"Quota exceeded for instances: Requested 1-2, but already used 10 of 10 instances"},
		{"memory", compute.Delta{RAMMB: 51200}, 1, 1, 0,
			"Quota exceeded for ram: Requested 1024, but already used 51200 of 51200 ram"},
	} {
		t.Run(c.name, func(t *testing.T) {
			computetest.InTx(t, db, func(tx store.Tx) error { return compute.ChargeQuota(t.Context(), tx, c.name, c.before) })
			var got int
			err := db.InTx(t.Context(), func(tx store.Tx) (err error) {
				got, err = compute.ChargeServers(t.Context(), tx, c.name, "user", each, c.least, c.most)
				return err
			})
			if c.message != "" {
				if !faults.Is(err, faults.OverLimit) || faults.As(err).Message != c.message {
					t.Errorf("refused with %v, want %q", err, c.message)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%d charged, want %d", got, c.want)
			}
			n := int64(c.want)
			wantUsage(t, db, c.name, compute.Delta{Instances: c.before.Instances + n, Cores: c.before.Cores + 4*n, RAMMB: c.before.RAMMB + 1024*n})
		})
	}
}

func TestWhatGivesBackIsNeverRefused(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	charge := func(d compute.Delta) error {
		return db.InTx(t.Context(), func(tx store.Tx) error { return compute.ChargeQuota(t.Context(), tx, "p", d) })
	}
	if err := charge(compute.Delta{Instances: 5, Cores: 10, RAMMB: 1000}); err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.SetLimit(t.Context(), tx, "p", "cores", 1) })
	if err := charge(compute.Delta{Cores: -4, RAMMB: 500}); err != nil {
		t.Errorf("giving back cores above the limit: %v", err)
	}
	wantUsage(t, db, "p", compute.Delta{Instances: 5, Cores: 6, RAMMB: 1500})
}

// A project's own limit counts before the default class's, that before the
// configuration's; -1 is no limit.
func TestWhichLimitCounts(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	want := func(instances int64) {
		t.Helper()
		limits, _, err := compute.Usage(t.Context(), db.Pool, "p")
		if err != nil || limits.Instances != instances {
			t.Errorf("limit is %d, want %d (%v)", limits.Instances, instances, err)
		}
		all, err := compute.Limits(t.Context(), db.Pool, "p")
		if err != nil || all["instances"] != instances || all["server_groups"] != 10 {
			t.Errorf("limits are %v, want instances %d (%v)", all, instances, err)
		}
	}
	want(10)
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO compute.quota_limits (class, resource, hard_limit) VALUES ('default', 'instances', 3)`); err != nil {
		t.Fatal(err)
	}
	want(3)
	computetest.AddServer(t, db, "p")
	want(3)
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.SetLimit(t.Context(), tx, "p", "instances", -1) })
	want(-1)
	for range 5 {
		computetest.AddServer(t, db, "p")
	}
	wantUsage(t, db, "p", compute.Delta{Instances: 6, Cores: 6, RAMMB: 3072})
	err := db.InTx(t.Context(), func(tx store.Tx) error { return compute.SetLimit(t.Context(), tx, "p", "moons", 1) })
	if !faults.Is(err, faults.Invalid) {
		t.Errorf("a limit for an unknown resource: %v", err)
	}
}
