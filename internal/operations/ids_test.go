package operations_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"holdfast.dev/internal/operations"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom(operations.All()).Draw(t, "kind")
		at := time.UnixMilli(rapid.Int64Range(0, 1<<47).Draw(t, "milliseconds"))
		resource := uuid.NewString()
		id := operations.NewID(spec.Kind, resource, at)
		later := operations.NewID(spec.Kind, resource, at.Add(time.Millisecond))
		again := operations.NewID(spec.Kind, resource, at)
		if id == again || id >= later || len(id) > 255 {
			t.Fatalf("%s, then %s, and a millisecond later %s", id, again, later)
		}
		kind, of, verb, ok := operations.ParseID(id)
		if !ok || kind != spec.Resource || of != resource || verb != spec.Verb {
			t.Fatalf("%s is %s %s %s, %v", id, kind, of, verb, ok)
		}
	})
}

func TestParseIDOfWhatIsNone(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "server", "server/a/build", "server/a/build/short", "server//build/0123456789abcdefghjk",
		"server/a//0123456789abcdefghjk", "server/a/build/0123456789abcdefghjk/more"} {
		if _, _, _, ok := operations.ParseID(id); ok {
			t.Errorf("%q is taken for an id", id)
		}
	}
}
