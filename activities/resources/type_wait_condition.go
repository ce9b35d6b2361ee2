package resources

// OS::Heat::WaitConditionHandle and OS::Heat::WaitCondition: what guests signal, and
// what waits for that.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// The ways to signal a handle that are served: by a token of its own, or none,
// which counts as signalled.
const (
	byToken  = "TOKEN_SIGNAL"
	unneeded = "NO_SIGNAL"
)

// handle is OS::Heat::WaitConditionHandle. Its metadata are the signals.
type handle struct {
	*Activities
	None
}

// Create is idempotent by the token, which is kept.
func (t handle) Create(_ context.Context, c *Call) (time.Duration, error) {
	signal := any(nil)
	switch transport := c.text("signal_transport"); transport {
	case unneeded:
		signal = &value.Map{}
	case byToken:
		if t.o.GuestURL == "" {
			return 0, faults.New(faults.Invalid, "NotSupported", "Signals are not supported, since orchestration.guest_url is not set.")
		}
		if _, has := c.Data.Get(stacks.TokenKey); has {
			break
		}
		token := stacks.NewSignalToken(c.parent.ID, c.Name)
		endpoint := t.signalURL(c)
		c.Data.Set(stacks.TokenKey, token)
		c.Attributes.Set("token", token)
		c.Attributes.Set("endpoint", endpoint)
		c.Attributes.Set("curl_cli", fmt.Sprintf("curl -i -X POST -H 'X-Auth-Token: %s' -H 'Content-Type: application/json' -H 'Accept: application/json' %s", token, endpoint))
	default:
		return 0, faults.New(faults.Invalid, "NotSupported", "Signal transport %s is not supported.", transport)
	}
	c.Attributes.Set("signal", value.JSON(signal, false))
	c.PhysicalID = c.Mark
	return 0, nil
}

// waitCondition is OS::Heat::WaitCondition.
type waitCondition struct{ *Activities }

// lookAgain is how long a wait condition isn't looked at that nobody knocks for.
const lookAgain = 30 * time.Second

// Instant implements Type.
func (waitCondition) Instant() bool { return true }

// Create is idempotent by when it began to wait, and by the signals of its handle.
func (t waitCondition) Create(ctx context.Context, c *Call) (time.Duration, error) {
	h, err := t.handle(ctx, c)
	if err != nil {
		return 0, err
	}
	timeout, _ := c.Properties.Get("timeout")
	left := c.until(seconds(timeout))
	given, _ := c.Properties.Get("count")
	count := int(number(given))
	signals, reasons, err := t.heard(c, h, count)
	switch {
	case err != nil:
		return 0, err
	case left == 0 && reasons != "":
		return 0, faults.New(faults.Invalid, "WaitConditionTimeout", "%d of %d received - %s", signals.Len(), count, reasons)
	case left == 0:
		return 0, faults.New(faults.Invalid, "WaitConditionTimeout", "%d of %d received", signals.Len(), count)
	case signals.Len() < count:
		return min(left, lookAgain), nil
	}
	said := &value.Map{}
	for i := range signals.Len() {
		id, one := signals.At(i)
		m, _ := one.(*value.Map)
		data, _ := m.Get("data")
		said.Set(id, data)
	}
	c.Attributes.Set("data", value.JSON(said, false))
	return 0, nil
}

// Update waits anew, and is idempotent as Create is.
func (t waitCondition) Update(ctx context.Context, c *Call, _ []string) (time.Duration, error) {
	return t.Create(ctx, c)
}

// Delete has the handle forget its signals; it is idempotent by that.
func (t waitCondition) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	h, err := t.handle(ctx, c)
	if faults.Is(err, faults.Invalid) {
		return 0, nil // it is gone
	}
	if err == nil {
		h.Metadata = "{}"
		c.keep(h)
	}
	return 0, err
}

// heard are the signals of a handle, and why those that succeeded did; a failure of
// one is the wait condition's.
func (t waitCondition) heard(c *Call, h *orchestration.Resource, count int) (signals *value.Map, reasons string, err error) {
	state, err := c.world.Of(h)
	if err != nil {
		return nil, "", err
	}
	if signals, err = stacks.Signals(h); err != nil {
		return nil, "", err
	}
	if transport, _ := state.Properties.Get("signal_transport"); transport == unneeded && signals.Len() < count {
		if err := stacks.Presume(h, count); err != nil {
			return nil, "", err
		}
		c.keep(h)
		if signals, err = stacks.Signals(h); err != nil {
			return nil, "", err
		}
	}
	var failed, succeeded []string
	for i := range signals.Len() {
		_, one := signals.At(i)
		m, _ := one.(*value.Map)
		status, _ := m.Get("status")
		reason, _ := m.Get("reason")
		if status == stacks.Succeeded {
			succeeded = append(succeeded, value.Str(reason))
		} else {
			failed = append(failed, value.Str(reason))
		}
	}
	if failed != nil {
		return nil, "", faults.New(faults.Invalid, "WaitConditionFailure", "%s", strings.Join(failed, ";"))
	}
	return signals, strings.Join(succeeded, ";"), nil
}

// handle is the one that the wait condition names, by what get_resource gives of it
// or by its name. Errors: Invalid, there is none.
func (t waitCondition) handle(ctx context.Context, c *Call) (*orchestration.Resource, error) {
	reference := c.text("handle")
	all, err := orchestration.Resources(ctx, c.tx, c.parent.ID)
	if err != nil {
		return nil, err
	}
	for i, r := range all {
		if now := c.world.Row(r.Name); now != nil && now.ID == r.ID {
			all[i] = now // as it is by now
		}
	}
	at := slices.IndexFunc(all, func(r *orchestration.Resource) bool {
		return stacks.Signalled(t.o.Registry.Find(r.Carrier())) && r.ReplacedBy == 0 && (r.PhysicalID == reference || r.Name == reference) && r.PhysicalID != ""
	})
	if at < 0 {
		return nil, stacks.ErrNoHandle(reference)
	}
	return all[at], nil
}
