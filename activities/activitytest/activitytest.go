// Package activitytest proves that steps can be run again, which a worker does
// whenever another one died: after the work was done, or in the middle of it.
//
// Every package under activities has a table of acts, a row per step at least.
// Each act is done twice, and killed at each of its calls and done again; Covers
// holds the table against steps.All(). InDatabase is both proofs for steps that
// touch the database and nothing else.
//
// Only tests import it.
package activitytest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/steps"
)

// Family is the part of a step's name that says which package does it.
func Family(step string) string {
	family, _, _ := strings.Cut(step, ".")
	return family
}

// Covers fails the test for every step of the family that is not in proven, and
// for everything in proven that is none.
func Covers(t *testing.T, family string, proven ...string) {
	t.Helper()
	is := map[string]bool{}
	for _, s := range steps.All() {
		if Family(s.Name) == family {
			is[s.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !slices.Contains(proven, name) {
			t.Errorf("no test runs %s twice and kills it half-way: give it a row in the table of acts of activities/%s", name, family)
		}
	}
	for _, name := range proven {
		if !is[name] {
			t.Errorf("%q is proven, and is no step of family %s", name, family)
		}
	}
}
