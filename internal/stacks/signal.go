package stacks

// Signals: what guests say of themselves, kept by the resource that they say it to.

import (
	"crypto/rand"
	"encoding/base64"
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
	// handleClass is the class of the type of handles, ConditionClass that of what
	// waits for their signals.
	handleClass    = "HeatWaitConditionHandle"
	ConditionClass = "HeatWaitCondition"

	// TokenKey is where a handle's type keeps the token that it can be signalled by.
	TokenKey = "token"
	// Succeeded is the status of a signal that all is well.
	Succeeded = "SUCCESS"
	// maxSignals is how long the signals of a handle may be together.
	maxSignals = 1 << 20
)

// Signalled says whether resources of a type are signalled; their metadata are the
// signals.
func Signalled(t *resourcetype.Type) bool { return t != nil && t.Class == handleClass }

// Signals are those of a handle, by their ids.
func Signals(r *orchestration.Resource) (*value.Map, error) { return mapping(r.Metadata) }

// Signal has a handle keep one more signal, and gives what the event says of it.
// Errors: Invalid, it is no signal, or there is no room for it.
func Signal(r *orchestration.Resource, details any) (told string, err error) {
	all, err := Signals(r)
	if err != nil {
		return "", err
	}
	if told, err = add(all, details); err != nil {
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
		if _, err := add(all, value.NewMap("id", value.Int(id))); err != nil {
			return err
		}
	}
	return keep(r, all)
}

// add puts one more signal to others.
func add(all *value.Map, details any) (told string, err error) {
	given, ok := details.(*value.Map)
	if !ok && value.Truth(details) {
		return "", bad("Metadata format invalid")
	}
	number := all.Len() + 1
	signal := value.NewMap("reason", "Signal "+value.Str(value.Int(number))+" received", "data", nil, "id", value.Int(number), "status", Succeeded)
	fields := signal.Len()
	for i := range given.Len() {
		signal.Set(given.At(i))
	}
	status, _ := signal.Get("status")
	if signal.Len() != fields || status != Succeeded && status != "FAILURE" {
		return "", bad("Metadata format invalid")
	}
	id, _ := signal.Get("id")
	all.Set(value.Str(id), signal.Without("id"))
	reason, _ := signal.Get("reason")
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
