package extraspecs

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/faults"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"hw:cpu_policy", "dedicated", ""},
		{"hw:cpu_policy", "sharred", "Validation failed; 'sharred' is not one of: dedicated, shared, mixed."},
		{"hw:numa_nodes", "0", "Validation failed; '0' is less than the min value of '1'."},
		{"hw:numa_nodes", "two", "Validation failed; 'two' is not a valid integer value."},
		{"hw:numa_cpus.0", "0-3,^2", ""},
		{"hw:boot_menu", "Maybe", "Validation failed; 'Maybe' is not a valid boolean-like value."},
		{"hw:boot_menu", "TRUE", ""},
		{"trait:CUSTOM_FAST", "required", ""},
		{"resources1:CUSTOM_GPU", "x", "Validation failed; 'x' is not a valid integer value."},
		{"hw:nonsense", "1", "Validation failed; extra spec 'hw:nonsense' does not appear to be a valid extra spec."},
		{"trait:COMPUTE_NODE", "required", ""},
		{"trait_A-1:COMPUTE_NODE", "forbidden", ""},
		{"trait_A-1:COMPUTE_NODE", "maybe", "Validation failed; 'maybe' is not one of: required, forbidden."},
		{"resources:VCPU", "2", ""},
		{"resources" + strings.Repeat("x", 64) + ":VCPU", "2", ""},
		{"resources" + strings.Repeat("x", 65) + ":VCPU", "no number", ""},
		{"resources.1:VCPU", "no number", ""},
		{"resources:VCPU:1", "2", "Validation failed; extra spec 'resources:VCPU:1' does not appear to be a valid extra spec."},
		{"mine:own", "1", ""},
		{"plain", "1", ""},
	} {
		got := ""
		if err := table.Check(c.name, c.value); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// The table is the contract's.
func TestTableIsTheContracts(t *testing.T) {
	t.Parallel()
	var contract struct {
		Namespaces []string `json:"known_namespaces_regex"`
		Validators []struct {
			Name  string `json:"name_regex"`
			Value map[string]any
		}
	}
	var ours struct {
		Namespaces []string
		Validators []map[string]any
	}
	contracttest.Read(t, "compute/extra-specs.json", &contract)
	if err := json.Unmarshal(table, &ours); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(ours.Namespaces, contract.Namespaces) || len(ours.Validators) != len(contract.Validators) {
		t.Fatalf("%d validators in %v", len(ours.Validators), ours.Namespaces)
	}
	for i, v := range contract.Validators {
		v.Value["key"] = v.Name
		if !reflect.DeepEqual(ours.Validators[i], v.Value) {
			t.Errorf("%v, want %v", ours.Validators[i], v.Value)
		}
	}
}

// A name that a row is for is found by that row, or by an earlier one that is for
// it too.
func TestEveryNameIsFound(t *testing.T) {
	t.Parallel()
	known, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var rows struct{ Validators []*validator }
	if err := json.Unmarshal(table, &rows); err != nil {
		t.Fatal(err)
	}
	for _, inGroup := range []string{"", "_Group-1"} {
		for _, v := range rows.Validators {
			name := strings.NewReplacer(group, inGroup, `(?P<filter>(:\w+)*)`, ":a:b", `(?P<num>\d+)`, "7",
				`(?P<resource>[A-Z0-9_]+)`, "X_1", `(?P<trait>[A-Z0-9_]+)`, "X_1", `(?P<key>.+)`, "k").Replace(v.Key)
			if !regexp.MustCompile("^(?:" + v.Key + ")$").MatchString(name) {
				t.Fatalf("%s is no name that %s is for", name, v.Key)
			}
			if found := known.find(name); found == nil || found.Key != v.Key {
				t.Errorf("%s is found as %+v, want %s", name, found, v.Key)
			}
		}
	}
}

// The table is in the memory of every API process.
func TestTableIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	known, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("a table of extra specs takes %d bytes", grown)
	}
	runtime.KeepAlive(known)
}

func TestEveryPatternCompiles(t *testing.T) {
	t.Parallel()
	known, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range append(slices.Collect(maps.Values(known.exact)), known.patterns...) {
		if err := v.check("\x00"); faults.Is(err, faults.Internal) {
			t.Errorf("%s: %v", v.Key, err)
		}
	}
}
