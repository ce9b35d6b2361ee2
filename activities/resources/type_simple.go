package resources

// Types that do nothing but be there.

import (
	"context"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/resourcetype"
)

// None is OS::Heat::None: it does nothing, and has no attributes.
type None struct{}

// Instant implements Type.
func (None) Instant() bool { return true }

// noneSpace is the space of the ids of what isn't there, by the marks.
var noneSpace = uuid.MustParse("1d0b3f0e-5a3f-4a58-9a0e-3a5e9f0b7c44")

// Create is idempotent by the mark, of which its physical id is made.
func (None) Create(_ context.Context, c *Call) (time.Duration, error) {
	c.PhysicalID = uuid.NewSHA1(noneSpace, []byte(c.ProjectID+" "+c.Mark)).String()
	return 0, nil
}

// Update has nothing to change.
func (None) Update(context.Context, *Call, []string) (time.Duration, error) { return 0, nil }

// Delete has nothing to take away.
func (None) Delete(context.Context, *Call) (time.Duration, error) { return 0, nil }

// Value is OS::Heat::Value: a name for an expression.
type Value struct{ None }

// Create is idempotent by the mark.
func (Value) Create(_ context.Context, c *Call) (time.Duration, error) {
	v, _ := c.Properties.Get("value")
	v, err := ofType(c.text("type"), v)
	if err != nil {
		return 0, err
	}
	c.PhysicalID = c.Mark
	c.Attributes.Set("value", v)
	return 0, nil
}

// Update is idempotent as Create is.
func (v Value) Update(ctx context.Context, c *Call, _ []string) (time.Duration, error) {
	return v.Create(ctx, c)
}

// valueTypes are the types of values by the names that templates use.
var valueTypes = map[string]string{"string": "string", "number": "number", "comma_delimited_list": "list", "json": "map", "boolean": "boolean"}

func ofType(name string, v any) (any, error) {
	if name == "" {
		return v, nil
	}
	return resourcetype.As(valueTypes[name], v)
}
