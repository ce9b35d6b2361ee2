package placement_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// addCells adds a host with a cell of two shared and six dedicated CPUs, and 512
// pages of 2 MiB.
func (w *world) addCells(name string) string {
	w.Helper()
	inventory, err := json.Marshal(map[string]any{"numa": numa.Host{Cells: []numa.Cell{{
		Shared: numa.CPUs{0, 1}, Dedicated: numa.CPUs{2, 3, 4, 5, 6, 7}, MemoryMB: 16384,
		Siblings: []numa.CPUs{{2, 3}, {4, 5}, {6, 7}}, Pages: []numa.Pages{{SizeKB: 4, Total: 3 << 20}, {SizeKB: 2048, Total: 512}},
	}}}})
	if err != nil {
		w.Fatal(err)
	}
	return computetest.AddHost(w, w.db, name, compute.Report{VCPUs: 2, MemoryMB: 16896, DiskGB: 100, Inventory: inventory})
}

// asking gives a server two CPUs, 256 MiB and these extra specs.
func asking(specs map[string]string) func(*compute.Server) {
	return func(s *compute.Server) {
		s.VCPUs, s.MemoryMB = 2, 256
		s.Flavor.VCPUs, s.Flavor.MemoryMB, s.Flavor.ExtraSpecs = 2, 256, specs
	}
}

func (w *world) lies(serverID string, size steps.Size) *numa.Placement {
	w.Helper()
	placed, _, err := compute.PlaceOf(w.Context(), w.db.Pool, serverID, size)
	if err != nil {
		w.Fatal(err)
	}
	return placed
}

// Many at once who want CPUs or pages for themselves: nobody gets another's.
func TestConcurrentClaimsOfCells(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		specs map[string]string
		fit   int
	}{
		"CPUs":  {map[string]string{"hw:cpu_policy": "dedicated"}, 3},
		"pages": {map[string]string{"hw:mem_page_size": "large"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.addCells("a")
			w.addCells("b")
			got, _ := w.contend(16, c.specs)
			if want := map[string]int{"a": c.fit, "b": c.fit, "": 16 - 2*c.fit}; !reflect.DeepEqual(got, want) {
				t.Errorf("claims %v, want %v", got, want)
			}
			computetest.CheckSums(t, w.db)
		})
	}
}

// CPUs that are pinned are no room of those that are shared; they go with the claim.
func TestAPinnedClaimAndItsRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := w.addCells("a")
	s, f := w.building(asking(map[string]string{"hw:cpu_policy": "dedicated"}))
	out := w.mustClaim(f, 1)
	if h, err := compute.GetHost(t.Context(), w.db.Pool, host); err != nil || h.VCPUsUsed != 0 || h.MemoryMBUsed != 256 {
		t.Errorf("%+v, %v: CPUs that are pinned are not those that are shared", h, err)
	}
	if p := w.lies(s.ID, ""); p == nil || !reflect.DeepEqual(p.Cells[0].Pinned, map[int]int{0: 2, 1: 3}) {
		t.Errorf("it lies on %+v", p)
	}
	w.undo(f, out.Effects[0].Seq)
	var left int
	if err := w.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM compute.pinned_cpus`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d CPUs are still pinned, %v", left, err)
	}
}

// What is claimed is what a flavor asks of classes instead of its own size.
func TestAClaimOfOtherResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := w.addCells("a")
	_, f := w.building(asking(map[string]string{"resources:VCPU": "0", "resources:MEMORY_MB": "512", "resources1:MEMORY_MB": "128", "resources:DISK_GB": "7"}))
	w.mustClaim(f, 1)
	h, err := compute.GetHost(t.Context(), w.db.Pool, host)
	if err != nil || h.VCPUsUsed != 0 || h.MemoryMBUsed != 640 || h.DiskGBUsed != 7 {
		t.Errorf("%+v, %v: 0 CPUs, 640 MiB and 7 GiB are asked for", h, err)
	}
}

// A guest that goes to another host while it runs keeps pages of its size, and lies
// on no cell there if it lies on none.
func TestAMoveKeepsThePages(t *testing.T) {
	t.Parallel()
	const none = -1
	for name, c := range map[string]struct {
		pageKB, want int64 // none: it lies on no cell, or finds no host
		used         int
	}{
		"of a size that the other host has":  {2048, 2048, 2},
		"of one that it lacks":               {1 << 20, none, 0},
		"of a guest of before there was any": {none, none, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, f := w.building(asking(map[string]string{"hw:mem_page_size": "large"}))
			home, _ := w.moving(f)
			if c.pageKB != none {
				on := &numa.Placement{Cells: []numa.Placed{{CPUs: numa.CPUs{0, 1}, MemoryMB: 256, PageKB: c.pageKB, Huge: true}}}
				if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.allocations SET numa = $2 WHERE host_id = $1`, home, on); err != nil {
					t.Fatal(err)
				}
			}
			other := w.addCells("b")
			_, err := w.placement.ClaimMove(t.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1})
			if c.used == 0 {
				if !faults.Is(err, faults.NoCapacity) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := int64(none)
			if p := w.lies(s.ID, ""); p != nil {
				got = p.Cells[0].PageKB
			}
			if h, err := compute.GetHost(t.Context(), w.db.Pool, other); err != nil || got != c.want || h.VCPUsUsed != c.used {
				t.Errorf("it has pages of %d KiB on %+v, %v; want %d", got, h, err, c.want)
			}
			computetest.CheckSums(t, w.db)
		})
	}
}

// A guest that moves gets CPUs of its new host; those of the old one are its
// migration's, and its own again if it stays.
func TestAMoveFitsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, f := w.building(asking(map[string]string{"hw:cpu_policy": "dedicated"}))
	home, _ := w.moving(f)
	was := &numa.Placement{Cells: []numa.Placed{{Host: 0, CPUs: numa.CPUs{0, 1}, Pinned: map[int]int{0: 30, 1: 31}, MemoryMB: 256}}}
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		if _, err := tx.Exec(t.Context(), `UPDATE compute.allocations SET numa = $2 WHERE host_id = $1`, home, was); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO compute.pinned_cpus SELECT host_id, unnest('{30,31}'::int[]), consumer_id FROM compute.allocations WHERE host_id = $1`, home)
		return err
	})
	w.addCells("b")
	out, err := w.placement.ClaimMove(t.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p := w.lies(s.ID, ""); p == nil || p.Cells[0].Pinned[0] != 2 {
		t.Errorf("it goes to %+v", p)
	}
	if p := w.lies(s.ID, steps.OldSize); !reflect.DeepEqual(p, was) {
		t.Errorf("it comes from %+v", p)
	}
	for _, e := range out.Effects {
		if e.Host == home {
			_, err = w.placement.HandBack(t.Context(), steps.HandBackIn{Fence: f, Seq: e.Seq})
		} else {
			_, err = w.placement.Release(t.Context(), steps.ReleaseIn{Fence: f, Seq: e.Seq})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if p := w.lies(s.ID, ""); !reflect.DeepEqual(p, was) {
		t.Errorf("it stays on %+v", p)
	}
	computetest.CheckSums(t, w.db)
}
