package resources

// OS::Heat::Delay: it takes its time, and holds up what needs it.

import (
	"context"
	"math/rand/v2"
	"time"

	"holdfast.dev/internal/hot/value"
)

// Delay is OS::Heat::Delay.
type Delay struct{}

// Instant implements Type.
func (Delay) Instant() bool { return true }

// Create is idempotent by when it began to wait, and for how long.
func (d Delay) Create(_ context.Context, c *Call) (time.Duration, error) { return d.wait(c), nil }

// Update changes how long is waited next time.
func (Delay) Update(context.Context, *Call, []string) (time.Duration, error) { return 0, nil }

// Delete is idempotent as Create is.
func (d Delay) Delete(_ context.Context, c *Call) (time.Duration, error) { return d.wait(c), nil }

// Suspend is idempotent as Create is.
func (d Delay) Suspend(_ context.Context, c *Call) (time.Duration, error) { return d.wait(c), nil }

// Resume is idempotent as Create is.
func (d Delay) Resume(_ context.Context, c *Call) (time.Duration, error) { return d.wait(c), nil }

func (Delay) wait(c *Call) time.Duration {
	actions, _ := c.Properties.Get("actions")
	if list, _ := actions.([]any); !value.In(c.Action, list) {
		return 0
	}
	key := "jitter_of_" + c.Action
	jitter, ok := c.Data.Get(key)
	if !ok {
		jitter = rand.Float64()
		c.Data.Set(key, jitter)
	}
	part, _ := jitter.(float64)
	least, _ := c.Properties.Get("min_wait")
	most, _ := c.Properties.Get("max_jitter")
	unit, _ := c.Properties.Get("jitter_multiplier")
	return c.until(seconds(least) + seconds(part*number(most)*number(unit)))
}
