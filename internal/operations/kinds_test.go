package operations_test

import (
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
)

func TestBeyond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind operations.Kind
		step string
		want bool
	}{
		{operations.ServerBuild, "", false},
		{operations.ServerBuild, operations.StepGuest, false},
		{operations.ServerBuild, operations.StepUndo, false},
		{operations.ServerStop, "", false},
		{operations.ServerStop, operations.StepUndo, false},
		{operations.ServerStop, operations.StepGuest, true},
		{operations.ServerDelete, "", true},
		{operations.ServerRecover, operations.StepUndo, true},
	} {
		spec, _ := operations.Lookup(c.kind)
		if got := spec.Beyond(c.step); got != c.want {
			t.Errorf("%s at step %q is beyond: %t, want %t", c.kind, c.step, got, c.want)
		}
	}
}

func TestThePointOfNoReturnIsAStep(t *testing.T) {
	t.Parallel()
	for _, spec := range operations.All() {
		if len(spec.Steps) == 0 || slices.Contains(spec.Steps, operations.StepUndo) {
			t.Errorf("%s has the steps %v", spec.Kind, spec.Steps)
		}
		if p := spec.PointOfNoReturn; p != "" && !spec.Forward() && !slices.Contains(spec.Steps, p) {
			t.Errorf("%s has no step %q", spec.Kind, p)
		}
	}
}
