package compute_test

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

func TestFlavors(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	put := func(f compute.Flavor) error {
		return db.InTx(t.Context(), func(tx store.Tx) error { return compute.UpsertFlavor(t.Context(), tx, &f) })
	}
	small := compute.Flavor{ID: "1", Name: "small", VCPUs: 1, MemoryMB: 512, RootGB: 1, EphemeralGB: 2, SwapMB: 1025, RXTXFactor: 1, Public: true,
		Description: pointer("for tests"), ExtraSpecs: map[string]string{"hw:cpu_policy": "shared"}}
	for _, f := range []compute.Flavor{
		small,
		{ID: "2", Name: "large", VCPUs: 4, MemoryMB: 4096, RootGB: 40, Public: true},
		{ID: "3", Name: "theirs", VCPUs: 1, MemoryMB: 1024, RootGB: 1},
		{ID: "4", Name: "old", VCPUs: 1, MemoryMB: 1024, RootGB: 1, Public: true, Disabled: true},
	} {
		if err := put(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO compute.flavor_access VALUES ('3', 'q')`); err != nil {
		t.Fatal(err)
	}
	if small.DiskGB() != 1+2+2 {
		t.Errorf("disk of %d GiB", small.DiskGB())
	}

	got, err := compute.GetFlavor(t.Context(), db.Pool, "p", "1")
	if err != nil {
		t.Fatal(err)
	}
	small.CreatedAt, small.UpdatedAt = got.CreatedAt, got.UpdatedAt
	a, _ := json.Marshal(got)
	if b, _ := json.Marshal(small); string(a) != string(b) {
		t.Errorf("read back %s, want %s", a, b)
	}
	for _, c := range []struct {
		project, id string
		found       bool
	}{{"p", "3", false}, {"q", "3", true}, {"", "3", true}, {"p", "4", true}, {"p", "9", false}} {
		if _, err := compute.GetFlavor(t.Context(), db.Pool, c.project, c.id); (err == nil) != c.found ||
			err != nil && faults.As(err).Message != "Flavor "+c.id+" could not be found." {
			t.Errorf("flavor %s for project %q: %v", c.id, c.project, err)
		}
	}

	for name, c := range map[string]struct {
		f    compute.FlavorFilter
		want string
	}{
		"a project's":     {compute.FlavorFilter{ProjectID: "p"}, "12"},
		"with access":     {compute.FlavorFilter{ProjectID: "q"}, "123"},
		"all":             {compute.FlavorFilter{}, "123"},
		"private":         {compute.FlavorFilter{Public: pointer(false)}, "3"},
		"with memory":     {compute.FlavorFilter{MinMemoryMB: 1024}, "23"},
		"with disk":       {compute.FlavorFilter{MinRootGB: 40}, "2"},
		"one":             {compute.FlavorFilter{Limit: 1}, "1"},
		"after the first": {compute.FlavorFilter{Marker: "1", Limit: 1}, "2"},
	} {
		page, err := compute.ListFlavors(t.Context(), db.Pool, c.f)
		if err != nil {
			t.Fatal(err)
		}
		ids := ""
		for _, f := range page {
			ids += f.ID
		}
		if ids != c.want {
			t.Errorf("%s: %s, want %s", name, ids, c.want)
		}
	}
	if _, err := compute.ListFlavors(t.Context(), db.Pool, compute.FlavorFilter{ProjectID: "p", Marker: "3"}); !faults.Is(err, faults.Invalid) {
		t.Errorf("a marker the project can't see: %v", err)
	}
	if err := put(compute.Flavor{ID: "5", Name: "small"}); !faults.Is(err, faults.Conflict) || faults.As(err).Message != "Flavor with name small already exists." {
		t.Errorf("a name that is taken: %v", err)
	}
}
