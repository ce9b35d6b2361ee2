package server

import (
	"testing"

	"holdfast.dev/internal/operations"
)

// Whatever kind of operation is lost, recovery knows what becomes of it: it is
// finished if it can be past its point of no return, and undone otherwise.
func TestEveryKindCanBeRecovered(t *testing.T) {
	t.Parallel()
	for _, spec := range operations.All() {
		if spec.Resource != operations.Server || spec.Recovers() {
			continue
		}
		row, ok := recoveries[spec.Kind]
		if !ok || row.undone == nil {
			t.Errorf("nothing is said of a lost %s", spec.Kind)
		}
		if (row.finish != nil) != (spec.PointOfNoReturn != "") {
			t.Errorf("%s: its point of no return is %q, and it can be finished: %t", spec.Kind, spec.PointOfNoReturn, row.finish != nil)
		}
	}
}
