package openstack_test

import (
	"context"
	"fmt"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
)

// An undo is tried again whatever a service says, and by its owner only.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []faults.Kind{faults.Invalid, faults.Unauthorized, faults.Forbidden, faults.NotFound, faults.Conflict, faults.OverLimit,
		faults.NoCapacity, faults.Unavailable, faults.Internal} {
		err := openstack.Again(fmt.Errorf("deep down: %w", faults.New(kind, "X", "x")), "Refused", "it refuses")
		if f := faults.As(err); !f.Kind.Retryable() || !kind.Retryable() && (f.Code != "Refused" || f.Message != "it refuses") {
			t.Errorf("%s became %+v", kind, f)
		}
	}
	for _, err := range []error{nil, faults.New(faults.Superseded, "X", "x"), context.Canceled} {
		if got := openstack.Again(err, "Refused", "it refuses"); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
