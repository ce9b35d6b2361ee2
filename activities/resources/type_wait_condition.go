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
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// The ways to signal a handle: by a token of its own; by a URL that is signed with a key
// of its user's, or as that user; by what a service keeps for it; and none, which counts
// as signalled.
const (
	byToken   = "TOKEN_SIGNAL"
	bySigned  = "CFN_SIGNAL"
	byLogin   = "HEAT_SIGNAL"
	byObject  = "TEMP_URL_SIGNAL"
	byMessage = "ZAQAR_SIGNAL"
	unneeded  = "NO_SIGNAL"
)

// keepers are the services that keep signals for a handle.
var keepers = map[string]string{byObject: "object-store", byMessage: "messaging"}

// handle is OS::Heat::WaitConditionHandle. Its metadata are the signals.
type handle struct{ stackUser }

// expect implements expectant: only some are signalled by a user.
func (t handle) expect(ctx context.Context, c *Call) error {
	if transport := c.text("signal_transport"); transport != bySigned && transport != byLogin {
		return nil
	}
	return t.stackUser.expect(ctx, c)
}

// Create is idempotent by the token or the user, which are kept.
func (t handle) Create(ctx context.Context, c *Call) (time.Duration, error) {
	c.PhysicalID = c.Mark
	var signal any
	switch transport := c.text("signal_transport"); transport {
	case unneeded:
		signal = &value.Map{}
	case byToken:
		if err := t.token(c); err != nil {
			return 0, err
		}
	case bySigned:
		address, err := t.signed(ctx, c, stacks.WaitConditionPath, c.Now)
		if err != nil {
			return 0, err
		}
		signal = value.NewMap("alarm_url", address)
	case byLogin:
		login, err := t.login(ctx, c)
		if err != nil {
			return 0, err
		}
		signal = login
	default:
		return 0, t.keeper(ctx, c, transport)
	}
	c.Attributes.Set("signal", value.JSON(signal, false))
	return 0, nil
}

// token gives the handle a token of its own.
func (t handle) token(c *Call) error {
	if t.o.GuestURL == "" {
		return faults.New(faults.Invalid, "NotSupported", "Signals are not supported, since orchestration.guest_url is not set.")
	}
	if c.Data.Has(stacks.TokenKey) {
		return nil
	}
	token := stacks.NewSignalToken(c.parent.ID, c.Name)
	endpoint := t.signalURL(c, c.ProjectID)
	c.Data.Set(stacks.TokenKey, token)
	c.Attributes.Set("token", token)
	c.Attributes.Set("endpoint", endpoint)
	c.Attributes.Set("curl_cli", fmt.Sprintf("curl -i -X POST -H 'X-Auth-Token: %s' -H 'Content-Type: application/json' -H 'Accept: application/json' %s", token, endpoint))
	return nil
}

// login is what somebody needs to signal the handle as its user, in the original's form.
func (t handle) login(ctx context.Context, c *Call) (*value.Map, error) {
	user, err := t.user(ctx, c)
	if err != nil {
		return nil, err
	}
	domain, err := t.o.Users.Domain(ctx)
	if err != nil {
		return nil, err
	}
	return value.NewMap("auth_url", t.o.AuthURL, "username", user.name, "user_id", user.id, "password", c.kept(passwordKey), "project_id", user.project,
		"domain_id", domain, "region_name", t.o.Region, "alarm_url", t.signalURL(c, user.project)), nil
}

// keeper refuses the signals that another service keeps: as the original does where
// there is no such service, and in words of its own where there is.
func (t handle) keeper(ctx context.Context, c *Call, transport string) error {
	if t.o.Cloud == nil || t.Instant() {
		return notCarried(transport)
	}
	_, err := open(ctx, t.o.Cloud, c, keepers[transport], "")
	switch {
	case unlisted(err):
		return faults.New(faults.Invalid, "EndpointNotFound", "public endpoint for %s service in %s region not found", keepers[transport], t.o.Region)
	case err != nil:
		return err
	}
	return notCarried(transport)
}

func notCarried(transport string) error {
	return faults.New(faults.Invalid, "NotSupported", "Signal transport %s is not supported.", transport)
}

// signedHandle is AWS::CloudFormation::WaitConditionHandle: get_resource gives the URL
// that it is signalled by.
type signedHandle struct{ stackUser }

// Create is idempotent by the user.
func (t signedHandle) Create(ctx context.Context, c *Call) (time.Duration, error) {
	address, err := t.signed(ctx, c, stacks.WaitConditionPath, c.Now)
	c.Reference = address
	return 0, err
}

// words are how a type of wait conditions calls its properties and its attribute.
type words struct{ handle, timeout, count, data string }

var (
	heatWords   = words{"handle", "timeout", "count", "data"}
	amazonWords = words{"Handle", "Timeout", "Count", "Data"}
)

// waitCondition is OS::Heat::WaitCondition, or AWS::CloudFormation::WaitCondition.
type waitCondition struct {
	*Activities
	words words
}

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
	timeout, _ := c.Properties.Get(t.words.timeout)
	left := c.until(seconds(timeout))
	given, _ := c.Properties.Get(t.words.count)
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
	said, typ := &value.Map{}, t.o.Registry.Find(h.Carrier())
	for i := range signals.Len() {
		id, one := signals.At(i)
		_, _, data := stacks.Told(typ, one)
		said.Set(id, data)
	}
	c.Attributes.Set(t.words.data, value.JSON(said, false))
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
	typ := t.o.Registry.Find(h.Carrier())
	var failed, succeeded []string
	for i := range signals.Len() {
		_, one := signals.At(i)
		status, reason, _ := stacks.Told(typ, one)
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

// handle is the one that the wait condition names: by what get_resource gives of it,
// which may be a URL, or where that isn't the only way by its name. Errors: Invalid,
// there is none.
func (t waitCondition) handle(ctx context.Context, c *Call) (*orchestration.Resource, error) {
	reference := c.text(t.words.handle)
	switch name, err := t.placed(c, reference); {
	case err == nil:
		reference = name
	case t.words == amazonWords:
		return nil, err
	}
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

// placed is the name of the handle whose URL is given, which must be one of the same
// stack. Errors: Invalid.
func (t waitCondition) placed(c *Call, address string) (string, error) {
	at, err := stacks.PlaceOfURL(address)
	wrong, is := "", any(nil)
	switch {
	case err != nil:
		return "", err
	case at.ProjectID != c.ProjectID:
		wrong, is = "tenant", at.ProjectID
	case at.StackName != c.parent.Name:
		wrong, is = "stack", at.StackName
	case at.StackID != c.parent.ID:
		wrong, is = "stack", at.StackID
	default:
		return at.Resource, nil
	}
	return "", faults.New(faults.Invalid, hot.ValueError, "WaitCondition invalid Handle %s %s", wrong, is)
}
