package resources

// OS::Heat::TestResource: it waits and fails as it is told.

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// Test is OS::Heat::TestResource.
type Test struct{}

// Instant implements Type.
func (Test) Instant() bool { return true }

// Create is idempotent by the mark and by when it began to wait.
func (Test) Create(_ context.Context, c *Call) (time.Duration, error) {
	fail, _ := c.Properties.Get("fail")
	if fail == false {
		v, _ := c.Properties.Get("value")
		c.Attributes.Set("output", v)
		c.PhysicalID = c.Mark
	}
	if wait := c.until(waitOf(c)); wait > 0 {
		return wait, nil
	}
	if fail == true {
		return 0, value.Errorf(hot.ValueError, "Test Resource failed %s", c.Name)
	}
	return 0, nil
}

// Replaces says that it is, if it is told so and its value changes.
func (Test) Replaces(_, asked *value.Map, changed []string) bool {
	told, _ := asked.Get("update_replace")
	return told == true && slices.Contains(changed, "value")
}

// Update is idempotent as Create is; only a new value takes time.
func (t Test) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	if !slices.Contains(changed, "value") {
		return 0, nil
	}
	return t.Create(ctx, c)
}

// Delete waits, and is idempotent by when it began to.
func (Test) Delete(_ context.Context, c *Call) (time.Duration, error) {
	return c.until(waitOf(c)), nil
}

// Check says of one that was never made that it wasn't.
func (Test) Check(_ context.Context, c *Call) (time.Duration, error) {
	if c.PhysicalID == "" {
		return 0, faults.New(faults.Invalid, "Exception", "Resource not created")
	}
	return 0, nil
}

// waitOf is how long an action takes: as said of the action, or of all.
func waitOf(c *Call) time.Duration {
	all, _ := c.Properties.Get("wait_secs")
	each, _ := c.Properties.Get("action_wait_secs")
	if m, ok := each.(*value.Map); ok {
		if one, _ := m.Get(strings.ToLower(c.Action)); one != nil {
			all = one
		}
	}
	return seconds(all)
}
