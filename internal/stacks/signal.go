package stacks

// Signals: what guests say of themselves, kept by the resource that they say it to.

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/store/orchestration"
)

const (
	// TokenKey is where a handle's type keeps the token that it can be signalled by,
	// UserKey where any type keeps the user that its resource is signalled by.
	TokenKey = "token"
	UserKey  = "user_id"
	// Succeeded is the status of a signal that all is well.
	Succeeded = "SUCCESS"
	// maxSignals is how long the signals of a handle may be together.
	maxSignals = 1 << 20
)

// form is how the parts of a signal are called.
type form struct {
	reason, data, id, status string
	// lenient signals may lack any of them.
	lenient bool
}

var (
	heatForm   = form{"reason", "data", "id", "status", true}
	amazonForm = form{"Reason", "Data", "UniqueId", "Status", false}
)

// handles are the classes of types that are signalled, by the forms of signals.
var handles = map[string]form{
	"HeatWaitConditionHandle":   heatForm,
	"WaitConditionHandle":       amazonForm,
	"UpdateWaitConditionHandle": amazonForm,
}

// conditions are the classes of types that wait for signals.
var conditions = []string{"HeatWaitCondition", "WaitCondition"}

// Signalled says whether resources of a type are signalled; their metadata are the
// signals.
func Signalled(t *resourcetype.Type) bool {
	if t == nil {
		return false
	}
	_, is := handles[t.Class]
	return is
}

// Waits says whether resources of a type wait for signals.
func Waits(t *resourcetype.Type) bool { return t != nil && slices.Contains(conditions, t.Class) }

// Signals are those of a handle, by their ids.
func Signals(r *orchestration.Resource) (*value.Map, error) { return mapping(r.Metadata) }

// Told is what a signal to a handle of a type says.
func Told(t *resourcetype.Type, signal any) (status, reason, data any) {
	of := handles[t.Class]
	m, _ := signal.(*value.Map)
	status, _ = m.Get(of.status)
	reason, _ = m.Get(of.reason)
	data, _ = m.Get(of.data)
	return status, reason, data
}

// Signal has a handle of a type keep one more signal, and gives what the event says of
// it; empty if it says nothing. Errors: Invalid, it is no signal, or there is no room
// for it.
func Signal(t *resourcetype.Type, r *orchestration.Resource, details any) (told string, err error) {
	of := handles[t.Class]
	if details == nil && !of.lenient {
		return "", nil
	}
	all, err := Signals(r)
	if err != nil {
		return "", err
	}
	if told, err = of.add(all, details); err != nil {
		return "", err
	}
	return told, keep(r, all)
}

// Presume has a handle that nobody signals keep so many signals that all is well.
// Errors: Invalid, there is no room for them.
func Presume(r *orchestration.Resource, count int) error {
	const shortest = 64 // of what is kept of a signal
	all, err := Signals(r)
	if err != nil {
		return err
	}
	for id := 1; all.Len() < min(count, maxSignals/shortest+1); id++ {
		if all.Has(strconv.Itoa(id)) {
			continue // it was signalled after all
		}
		if _, err := heatForm.add(all, value.NewMap("id", value.Int(id))); err != nil {
			return err
		}
	}
	return keep(r, all)
}

// add puts one more signal to others.
func (f form) add(all *value.Map, details any) (told string, err error) {
	given, ok := details.(*value.Map)
	if !ok && value.Truth(details) {
		return "", bad("Metadata format invalid")
	}
	signal := &value.Map{}
	if f.lenient {
		number := value.Int(all.Len() + 1)
		signal = value.NewMap(f.reason, "Signal "+value.Str(number)+" received", f.data, nil, f.id, number, f.status, Succeeded)
	}
	for i := range given.Len() {
		signal.Set(given.At(i))
	}
	parts := []string{f.reason, f.data, f.id, f.status}
	whole := signal.Len() == len(parts) && !slices.ContainsFunc(parts, func(part string) bool { return !signal.Has(part) })
	status, _ := signal.Get(f.status)
	if !whole || status != Succeeded && status != "FAILURE" {
		return "", bad("Metadata format invalid")
	}
	id, _ := signal.Get(f.id)
	all.Set(value.Str(id), signal.Without(f.id))
	reason, _ := signal.Get(f.reason)
	return "status:" + value.Str(status) + " reason:" + value.Str(reason), nil
}

// keep writes the signals of a handle.
func keep(r *orchestration.Resource, all *value.Map) error {
	text, err := all.MarshalJSON()
	if err != nil {
		return err
	}
	if len(text) > maxSignals {
		return &hot.Error{Class: hot.LimitExceeded, Message: "Request limit exceeded: The signals of a handle are too long."}
	}
	r.Metadata = string(text)
	return nil
}

// signalToken is what tokens begin with that handles are signalled by.
const signalToken = "signal."

// NewSignalToken makes a token that is good for signalling one resource.
func NewSignalToken(stackID, resource string) string {
	const strength = 32
	secret := make([]byte, strength)
	_, _ = rand.Read(secret) // it never fails since Go 1.24
	encode := base64.RawURLEncoding.EncodeToString
	return signalToken + stackID + "." + encode([]byte(resource)) + "." + encode(secret)
}

// OfSignalToken says which resource a token says that it is for; false for a token
// of another kind.
func OfSignalToken(token string) (stackID, resource string, is bool) {
	rest, is := strings.CutPrefix(token, signalToken)
	parts := strings.Split(rest, ".")
	if !is || len(parts) != 3 || uuid.Validate(parts[0]) != nil {
		return "", "", false
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[1])
	return parts[0], string(name), err == nil
}

// ErrNoHandle is the failure of a wait condition whose handle is none.
func ErrNoHandle(reference string) error {
	return faults.New(faults.Invalid, hot.ValueError, "%s is not a valid wait condition handle.", reference)
}
