package resources

// The deletion policy Snapshot: what goes is copied first. The copy stays, and is nobody's
// but the user's.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/store/orchestration"
)

const (
	// copiedPolicy is what the policy is called.
	copiedPolicy = "Snapshot"
	// copyKey is where it is kept what the copy is, copiedKey that there is no more to be
	// copied.
	copyKey, copiedKey = "copy", "copied"
)

// uncopied says of a resource that is about to go that there is nothing to copy: it isn't
// what it was to be.
func uncopied(r *orchestration.Resource) bool {
	return r.Status == orchestration.Failed && (r.Action == orchestration.ActionCreate || r.Action == orchestration.ActionUpdate)
}

// deleteCopied is idempotent as the copy is, and then as Delete is. Nothing goes whose
// copy isn't there.
func deleteCopied(ctx context.Context, t Type, c *Call) (time.Duration, error) {
	copier, copies := t.(Snapshotter)
	if !copies || c.PhysicalID == "" || c.Data.Has(copiedKey) {
		return t.Delete(ctx, c)
	}
	c.Copy, c.Kept = c.Mark, &value.Map{}
	given, _ := c.Data.Get(copyKey)
	if kept, begun := given.(*value.Map); begun {
		c.Kept = kept.Copy()
	}
	wait, err := copier.Snapshot(ctx, c)
	if gone := faults.Is(err, faults.NotFound) && c.Kept.Len() == 0; err != nil && !gone {
		return 0, err
	}
	c.Data.Set(copyKey, c.Kept)
	if wait > 0 {
		return wait, nil
	}
	c.Data = c.Data.Without(waitKey(c.Action)) // the delete waits anew
	c.Data.Set(copiedKey, true)
	return soon, nil
}
