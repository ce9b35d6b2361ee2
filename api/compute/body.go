package compute

// Bodies of requests, read into Go values. Shapes and bounds were checked
// before by the operation's request schema; what is read here is loose where
// the originals are: numbers and truths may come as strings.

import (
	"encoding/json"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

// whole is a whole number: 7 or "7".
type whole int64

// UnmarshalJSON implements json.Unmarshaler.
func (w *whole) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	if err != nil {
		var f float64
		if json.Unmarshal(text, &f) != nil || f != float64(int64(f)) {
			return notOfType("", text, "integer")
		}
		n = int64(f)
	}
	*w = whole(n)
	return nil
}

// truth is a boolean: true or one of the words of formats.json (boolean_like).
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (b *truth) UnmarshalJSON(text []byte) error {
	v, ok := parseTruth(strings.Trim(string(text), `"`))
	if !ok {
		return notOfType("", text, "boolean")
	}
	*b = truth(v)
	return nil
}

// parseTruth reads a boolean as the originals' strict reader does.
func parseTruth(word string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

// readWhole reads a body that has no name around it as a T.
func readWhole[T any](r *rest.Request) (*T, error) {
	body, err := r.Object()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err := json.Unmarshal(text, value); err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "ValidationError", "Malformed request body")
	}
	return value, nil
}

// readBody reads the one object of a body, {name: {...}}, as a T.
func readBody[T any](r *rest.Request, name string) (*T, error) {
	body, err := r.Object()
	if err != nil {
		return nil, err
	}
	raw, ok := body[name]
	if !ok {
		return nil, faults.New(faults.Invalid, "ValidationError", "'%s' is a required property", name)
	}
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		if f := faults.As(err); f.Kind == faults.Invalid {
			return nil, f
		}
		return nil, invalidField(name, raw, "%s is not valid", rest.PyRepr(raw))
	}
	return value, nil
}

// rebootType is SOFT or HARD, in any case of letters.
type rebootType string

// UnmarshalJSON implements json.Unmarshaler.
func (t *rebootType) UnmarshalJSON(text []byte) error {
	word := strings.ToUpper(strings.Trim(string(text), `"`))
	if word != "SOFT" && word != "HARD" {
		return invalidField("type", text, "%s is not one of ['HARD', 'Hard', 'hard', 'SOFT', 'Soft', 'soft']", rest.PyRepr(text))
	}
	*t = rebootType(word)
	return nil
}
