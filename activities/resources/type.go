package resources

// The seam between traversals and types of resources.

import (
	"context"
	"math/big"
	"time"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Type is what a type of resources does. Each method is called again for as long
// as it says to wait, and may be called again after it was done or cut short: it
// finds what it did before by Data, by the name or by the call's Mark.
//
// An error is the resource's failure and what users read of it; a
// faults.Unavailable of a type that isn't instant is tried again first.
type Type interface {
	// Instant says that nothing is done outside our own database.
	Instant() bool
	// Create makes the resource, gives it its PhysicalID and fills in Attributes.
	Create(ctx context.Context, c *Call) (wait time.Duration, err error)
	// Update makes it as the properties say, of which those named have changed.
	// Only what may be changed in place has.
	Update(ctx context.Context, c *Call, changed []string) (wait time.Duration, err error)
	// Delete takes it away; what is gone already is success.
	Delete(ctx context.Context, c *Call) (wait time.Duration, err error)
}

// Replacer is a Type that is replaced for some changes that may be made in place.
type Replacer interface {
	// Replaces says whether it is, for what was before and what is asked for.
	Replaces(before, asked *value.Map, changed []string) bool
}

// Returner is a Type that lets go of something for what takes its place.
type Returner interface {
	// Return gives it to the resource again, when that takes its place back from the
	// call's Before. It is called before Update.
	Return(ctx context.Context, c *Call) (wait time.Duration, err error)
}

// Checker is a Type that can say whether what it made is still as it should be.
type Checker interface {
	// Check looks, and brings Attributes up to date. An error says what is wrong.
	Check(ctx context.Context, c *Call) (wait time.Duration, err error)
}

// Observer is a Type that can say what has become of what it made.
type Observer interface {
	// Observe names the properties that the resource has otherwise than it was given
	// them. It changes nothing. Errors: NotFound, it isn't there.
	Observe(ctx context.Context, c *Call) (strayed []string, err error)
}

// Looker is a Type that can say whether what it would have made is there.
type Looker interface {
	// Look fills in Attributes, by the call's PhysicalID and Data. Errors: NotFound.
	Look(ctx context.Context, c *Call) error
}

// Adopter is a Type that has something to do when what it would have made is there
// already.
type Adopter interface {
	// Adopt fills in Attributes, by the call's PhysicalID and Data. It changes nothing.
	Adopt(ctx context.Context, c *Call) (wait time.Duration, err error)
}

// Sleeper is a Type that has something to do when its stack is put to sleep.
type Sleeper interface {
	// Suspend puts the resource to sleep; what sleeps already is success.
	Suspend(ctx context.Context, c *Call) (wait time.Duration, err error)
	// Resume wakes it; what is awake already is success.
	Resume(ctx context.Context, c *Call) (wait time.Duration, err error)
}

// Snapshotter is a Type that can copy what it made when its stack's snapshot is taken.
type Snapshotter interface {
	// Snapshot makes the copy, of the call's Copy as a name, and says in Kept what it
	// is.
	Snapshot(ctx context.Context, c *Call) (wait time.Duration, err error)
	// DeleteSnapshot takes it away; what is gone already is success.
	DeleteSnapshot(ctx context.Context, c *Call) (wait time.Duration, err error)
}

// Call is one call of a type.
type Call struct {
	// Name is the resource's in its template; Mark names it among all there are,
	// and is the same however often it is worked on.
	Name, Mark string
	// Action is CREATE, ADOPT, UPDATE, DELETE, CHECK, SUSPEND, RESUME or SNAPSHOT, as
	// users see it.
	Action string
	// ProjectID is the project that the stack is in, UserID its owner, TrustID what
	// that one lets us act by; empty if there is no such thing.
	ProjectID, UserID, TrustID string
	// Now is the time, one for a whole batch.
	Now time.Time
	// PhysicalID is what the resource is outside; the type sets it.
	PhysicalID string
	// Properties are resolved, of their types and with defaults filled in.
	Properties *value.Map
	// Metadata are the resource's, in JSON.
	Metadata string
	// Data is the type's own, kept between calls.
	Data *value.Map
	// Attributes are what templates read of it.
	Attributes *value.Map
	// Reference is what get_resource gives; nil is the physical id.
	Reference any

	// Blocked is what keeps the resource from going, in the words of its service, while
	// it is waited for; the type sets it.
	Blocked string

	// Before is what has had the resource's place until now; nil is nothing.
	Before *Before

	// Copy names the resource's copy in a snapshot among all there are, Kept is what the
	// type keeps of it.
	Copy string
	Kept *value.Map

	// Left is what another stack has left of a nested one that is adopted.
	Left *value.Map

	// userProject is that of the stack's users, for a type whose resources are such.
	userProject orchestration.UserProject
	// configs is where software configs are looked up; box opens them.
	configs store.Queryer
	box     *secrets.Box
	// around is what a nested stack has to know of its parent.
	around
}

// Before is a resource of which another takes the place, or takes it back.
type Before struct{ Mark, PhysicalID string }

// Types are the types that there are, by name.
type Types map[string]Type

// Builtin are the types that are part of Holdfast.
func Builtin() Types {
	return Types{
		"OS::Heat::None":         None{},
		"OS::Heat::Value":        Value{},
		"OS::Heat::RandomString": RandomString{},
		"OS::Heat::TestResource": Test{},
		"OS::Heat::Delay":        Delay{},
	}
}

// until waits for d from the first time that it is asked; negative is for ever.
// What it has begun to wait for is in the call's data under the action's name.
func (c *Call) until(d time.Duration) (wait time.Duration) {
	const forEver = time.Hour
	key := waitKey(c.Action)
	began, ok := c.Data.Get(key)
	text, _ := began.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	if !ok || err != nil {
		at = c.Now
		c.Data.Set(key, at.Format(time.RFC3339Nano))
	}
	if d < 0 {
		return forEver
	}
	return max(at.Add(d).Sub(c.Now), 0)
}

// waitKey is where an action's begin is kept in a type's data.
func waitKey(action string) string { return "waits_for_" + action }

// number is a value that is a number, as properties of that type are.
func number(v any) float64 {
	n, err := value.ToNumber(v)
	if err != nil {
		return 0
	}
	switch n := n.(type) {
	case float64:
		return n
	case *big.Int:
		f, _ := n.Float64()
		return f
	}
	return 0
}

// seconds is a number of seconds as a time.
func seconds(v any) time.Duration {
	const most = 1e9
	return time.Duration(max(min(number(v), most), -most) * float64(time.Second))
}

// text is a property that is a text.
func (c *Call) text(name string) string {
	v, _ := c.Properties.Get(name)
	s, _ := v.(string)
	return s
}
