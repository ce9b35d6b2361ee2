package placement_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/activities/placement"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type world struct {
	testing.TB
	db        *store.DB
	engine    *engine.Engine
	placement *placement.Activities
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, db: computetest.Open(t)}
	w.engine = engine.New(w.db, compute.Resource())
	w.placement = placement.New(w.db, w.engine, scheduler.Default())
	return w
}

// building is a server whose build has begun.
func (w *world) building(change ...func(*compute.Server)) (*compute.Server, steps.Fence) {
	w.Helper()
	s := computetest.NewServer("p")
	for _, c := range change {
		c(s)
	}
	f := steps.Fence{RunID: uuid.NewString()}
	computetest.InTx(w, w.db, func(tx store.Tx) error {
		if err := compute.InsertServer(w.Context(), tx, s); err != nil {
			return err
		}
		accepted, err := w.engine.Accept(w.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: s.ID, ProjectID: "p"})
		if err != nil {
			return err
		}
		begun, err := w.engine.Begin(w.Context(), tx, steps.BeginIn{OperationID: accepted.OperationID, RunID: f.RunID})
		f.OperationID, f.Generation = accepted.OperationID, begun.Generation
		return err
	})
	return s, f
}

func (w *world) claim(f steps.Fence, attempt int, exclude ...string) (steps.ClaimOut, error) {
	return w.placement.Claim(w.Context(), steps.ClaimIn{Fence: f, Attempt: attempt, Exclude: exclude})
}

func (w *world) mustClaim(f steps.Fence, attempt int, exclude ...string) steps.ClaimOut {
	w.Helper()
	out, err := w.claim(f, attempt, exclude...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// undo releases a ledger line and settles it, as a workflow does.
func (w *world) undo(f steps.Fence, seq int) {
	w.Helper()
	if _, err := w.placement.Release(w.Context(), steps.ReleaseIn{Fence: f, Seq: seq}); err != nil {
		w.Fatal(err)
	}
	computetest.InTx(w, w.db, func(tx store.Tx) error {
		_, err := w.engine.Advance(w.Context(), tx, steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1,
			Settle: []steps.Settlement{{Seq: seq, State: operations.Undone}}})
		return err
	})
}

// Killed between commit and answer and run again, a claim gives the same
// answer and takes no more room; so does a release.
func TestAClaimAndItsReleaseRunTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := computetest.AddHost(t, w.db, "h", computetest.Room)
	s, f := w.building()

	first := w.mustClaim(f, 1)
	want := steps.ClaimOut{HostID: host, HostName: "h", Effects: []operations.Effect{
		{Seq: 1, Kind: operations.EffectClaim, Ref: s.ID, Host: host, Attempt: 1, State: operations.Done}}}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("claimed %+v, want %+v", first, want)
	}
	dump := computetest.Dump(t, w.db)
	if again := w.mustClaim(f, 1); !reflect.DeepEqual(again, first) {
		t.Errorf("run again %+v, first %+v", again, first)
	}
	if after := computetest.Dump(t, w.db); after != dump {
		t.Errorf("run again it changed\n%s\nto\n%s", dump, after)
	}

	for range 2 {
		if _, err := w.placement.Release(t.Context(), steps.ReleaseIn{Fence: f, Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if h, err := compute.GetHost(t.Context(), w.db.Pool, host); err != nil || h.Servers != 0 || h.VCPUsUsed != 0 {
			t.Errorf("released: %+v (%v)", h, err)
		}
	}
	w.undo(f, 1)
	w.undo(f, 1)
	computetest.CheckSums(t, w.db)
	if _, err := w.placement.Release(t.Context(), steps.ReleaseIn{Fence: f, Seq: 2}); !faults.Is(err, faults.NotFound) {
		t.Errorf("a release of a line that isn't there: %v", err)
	}
}

// With everything just started again, a host that has not reported yet is
// waited for; one that is left out, disabled or declared down is not.
func TestHostsAreHeardFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	silent := func(name string, more string) string {
		id := computetest.AddHost(t, w.db, name, computetest.Room)
		if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = now() - interval '1 hour'`+more+` WHERE id = $1`, id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	silent("declared down", `, forced_down = true`)
	silent("disabled", `, disabled = true`)
	_, f := w.building()
	w.placement.Since = time.Now()
	if _, err := w.claim(f, 1); !faults.Is(err, faults.NoCapacity) {
		t.Errorf("with nobody to wait for: %v", err)
	}
	host := silent("silent", "")
	if _, err := w.claim(f, 1); !faults.Is(err, faults.Unavailable) {
		t.Errorf("with a host that may report: %v", err)
	}
	if _, err := w.claim(f, 1, host); !faults.Is(err, faults.NoCapacity) {
		t.Errorf("with that host left out: %v", err)
	}
	w.placement.Since = time.Now().Add(-time.Hour)
	if _, err := w.claim(f, 1); !faults.Is(err, faults.NoCapacity) {
		t.Errorf("after an hour: %v", err)
	}
	if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = now() WHERE id = $1`, host); err != nil {
		t.Fatal(err)
	}
	if out := w.mustClaim(f, 1); out.HostID != host {
		t.Errorf("claimed on %s, want %s", out.HostID, host)
	}
}

// The next attempt goes to another host, and an attempt that was undone and is
// carried out by a new run doesn't go back either.
func TestAHostThatWasLeftIsNotChosenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		computetest.AddHost(t, w.db, name, computetest.Room)
	}
	_, f := w.building()
	first := w.mustClaim(f, 1)
	w.undo(f, 1)
	second := w.mustClaim(f, 1)
	third := w.mustClaim(f, 2, first.HostID, second.HostID)
	hosts := map[string]bool{first.HostID: true, second.HostID: true, third.HostID: true}
	if len(hosts) != 3 {
		t.Errorf("hosts %s, %s, %s", first.HostName, second.HostName, third.HostName)
	}
	wantNoValidHost(t, w, f, 3, second.HostID, third.HostID)
	computetest.CheckSums(t, w.db)
}

func wantNoValidHost(t *testing.T, w *world, f steps.Fence, attempt int, exclude ...string) {
	t.Helper()
	dump := computetest.Dump(t, w.db)
	_, err := w.claim(f, attempt, exclude...)
	if fault := faults.As(err); fault == nil || fault.Kind != faults.NoCapacity || fault.Code != "NoValidHost" ||
		fault.Message != "No valid host was found. There are not enough hosts available." {
		t.Errorf("want NoValidHost, got %v", err)
	}
	if after := computetest.Dump(t, w.db); after != dump {
		t.Errorf("a claim without a host changed\n%s\nto\n%s", dump, after)
	}
}

func TestWhatTheRequestAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := computetest.AddHost(t, w.db, "a", computetest.Room)
	b := computetest.AddHost(t, w.db, "b", computetest.Room)
	if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET availability_zone = 'east' WHERE id = $1`, b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*compute.Server)
		host   string
	}{
		{"a host", func(s *compute.Server) { s.Placement.Host = "a" }, a},
		{"a node", func(s *compute.Server) { s.Placement.Node = "b" }, b},
		{"a zone", func(s *compute.Server) { s.AvailabilityZone = "east" }, b},
		{"a host of another zone", func(s *compute.Server) { s.Placement.Host, s.AvailabilityZone = "a", "east" }, ""},
		{"a host that isn't there", func(s *compute.Server) { s.Placement.Host = "z" }, ""},
		{"more than any host has", func(s *compute.Server) { s.MemoryMB = 1 << 20 }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, f := w.building(c.change)
			if c.host == "" {
				wantNoValidHost(t, w, f, 1)
			} else if got := w.mustClaim(f, 1); got.HostID != c.host {
				t.Errorf("claimed on %s", got.HostName)
			}
		})
	}
}

// Hosts that changed since the snapshot was read: the claim sees them as they are.
func TestAStaleSnapshotDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := computetest.AddHost(t, w.db, "a", computetest.Room)
	_, f := w.building()
	w.mustClaim(f, 1) // now the snapshot is a second young

	computetest.InTx(t, w.db, func(tx store.Tx) error { return compute.SetHostDisabled(t.Context(), tx, a, true, "repair") })
	_, f = w.building()
	wantNoValidHost(t, w, f, 1)

	b := computetest.AddHost(t, w.db, "b", computetest.Room)
	if got := w.mustClaim(f, 1); got.HostID != b {
		t.Errorf("claimed on %s, want the host that came since", got.HostName)
	}
}

// 40 builds at once for 12 places on three hosts, through two processes that
// each have a snapshot of their own: 12 claims, and 28 are told there is no host.
func TestConcurrentClaimsFillTheHostsExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := placement.New(w.db, w.engine, scheduler.Default())
	for i := range 3 {
		computetest.AddHost(t, w.db, fmt.Sprint("h", i), compute.Report{VCPUs: 1, MemoryMB: 16896, DiskGB: 100})
	}
	var fences []steps.Fence
	for range 40 {
		_, f := w.building()
		fences = append(fences, f)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	for i, f := range fences {
		wg.Go(func() {
			steps_ := []*placement.Activities{w.placement, other}[i%2]
			for {
				out, err := steps_.Claim(t.Context(), steps.ClaimIn{Fence: f, Attempt: 1})
				if faults.Is(err, faults.Unavailable) {
					continue // as the step's retry does
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					got[faults.As(err).Code]++
				} else {
					got[out.HostName]++
				}
				return
			}
		})
	}
	wg.Wait()
	if want := map[string]int{"h0": 4, "h1": 4, "h2": 4, "NoValidHost": 28}; !reflect.DeepEqual(got, want) {
		t.Errorf("claims %v, want %v", got, want)
	}
	computetest.CheckSums(t, w.db)
}

func TestAWrongFenceClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	computetest.AddHost(t, w.db, "h", computetest.Room)
	_, f := w.building()
	w.mustClaim(f, 1)
	dump := computetest.Dump(t, w.db)
	for name, wrong := range map[string]steps.Fence{
		"another generation": {OperationID: f.OperationID, Generation: f.Generation + 1, RunID: f.RunID},
		"another run":        {OperationID: f.OperationID, Generation: f.Generation, RunID: "other"},
	} {
		if _, err := w.claim(wrong, 2); !faults.Is(err, faults.Superseded) {
			t.Errorf("claim with %s: %v", name, err)
		}
		if _, err := w.placement.Release(t.Context(), steps.ReleaseIn{Fence: wrong, Seq: 1}); !faults.Is(err, faults.Superseded) {
			t.Errorf("release with %s: %v", name, err)
		}
	}
	if after := computetest.Dump(t, w.db); after != dump {
		t.Errorf("a wrong fence changed\n%s\nto\n%s", dump, after)
	}
}

func BenchmarkAClaim(b *testing.B) {
	w := newWorld(b)
	for i := range 100 {
		computetest.AddHost(b, w.db, fmt.Sprint("h", i), compute.Report{VCPUs: 1000, MemoryMB: 1 << 20, DiskGB: 10000})
	}
	fences := make([]steps.Fence, b.N)
	for i := range fences {
		_, fences[i] = w.building()
	}
	b.ResetTimer()
	for _, f := range fences {
		w.mustClaim(f, 1)
	}
}
