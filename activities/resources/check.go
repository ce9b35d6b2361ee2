package resources

// Checks of what services have: whether it is there, and as it should be.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// check reads what is there, of which a field is to be one of some values.
func (t REST) check(ctx context.Context, c *Call, field string, expected ...string) error {
	w, err := t.begin(ctx, c)
	if err == nil {
		err = w.look(ctx)
	}
	if err != nil {
		return err
	}
	object, _ := w.scope.Object.(*value.Map)
	now := value.Str(has(object, field))
	if len(expected) == 0 || slices.Contains(expected, now) {
		return nil
	}
	wanted := expected[0]
	if len(expected) > 1 {
		wanted = fmt.Sprintf("['%s']", strings.Join(expected, "', '"))
	}
	return faults.New(faults.Invalid, "Error", "'%s': expected '%s', got '%s'", field, wanted, now)
}

// Check is idempotent since it only looks: whether the server is active.
func (t Server) Check(ctx context.Context, c *Call) (time.Duration, error) {
	if err := t.check(ctx, c, "status", "ACTIVE"); err != nil {
		return 0, err
	}
	return 0, t.look(ctx, c)
}

// Check is idempotent since it only looks: whether the volume can be used, or is.
func (t Volume) Check(ctx context.Context, c *Call) (time.Duration, error) {
	return 0, t.check(ctx, c, "status", "available", "in-use")
}

// Check is idempotent since it only looks: whether there is the key.
func (t KeyPair) Check(ctx context.Context, c *Call) (time.Duration, error) {
	err := t.check(ctx, c, "")
	c.Attributes.Set("private_key", c.kept(privateKey))
	return 0, err
}

// Check is idempotent since it only looks: whether there is the container.
func (t Container) Check(ctx context.Context, c *Call) (time.Duration, error) {
	return t.Update(ctx, c, nil)
}
