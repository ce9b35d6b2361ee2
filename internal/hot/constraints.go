package hot

// Constraints of parameters, which properties of resources have too.

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// Constraints looks up what only a service can say: whether a flavor, an image
// or a network is there.
type Constraints interface {
	// Known says whether there is a custom constraint of a name.
	Known(name string) bool
	// Check says what is wrong with a value; nil if nothing is. An error that
	// isn't about the value (a service that is down) is a faults.Error of a kind
	// other than Invalid and NotFound, and goes to the caller as it is.
	Check(name string, v any) error
}

// Constraint is one constraint. Exactly one of its parts is set.
type Constraint struct {
	// Description, if there is one, is the whole text of the error.
	Description any
	Range       *Bounds
	Length      *Bounds
	Modulo      *Modulo
	Allowed     []any
	Pattern     *Pattern
	Custom      string

	line int
}

// Bounds are the least and the greatest value; nil is none.
type Bounds struct{ Min, Max any }

// Modulo wants multiples of Step, moved by Offset.
type Modulo struct{ Step, Offset any }

// kind is the name of a constraint in messages.
func (c *Constraint) kind() string {
	switch {
	case c.Range != nil:
		return "Range"
	case c.Length != nil:
		return "Length"
	case c.Modulo != nil:
		return "Modulo"
	case c.Allowed != nil:
		return "AllowedValues"
	case c.Pattern != nil:
		return "AllowedPattern"
	}
	return "CustomConstraint"
}

// fits says which constraints a type can have.
var fits = map[string]string{
	"Range": "Number", "Modulo": "Number", "Length": "String CommaDelimitedList Json", "AllowedPattern": "String",
	"AllowedValues": "String Number Boolean CommaDelimitedList", "CustomConstraint": "String Number Boolean CommaDelimitedList",
}

func (c *Constraint) fits(wire string) bool {
	for name := range strings.FieldsSeq(fits[c.kind()]) {
		if name == wire {
			return true
		}
	}
	return false
}

// newBounds makes the bounds of a range or a length.
func newBounds(what string, minimum, maximum any) (*Bounds, error) {
	if minimum == nil && maximum == nil {
		return nil, failf(InvalidSchema, "A %s constraint must have a min value and/or a max value specified.", what)
	}
	if what == "length" {
		for _, bound := range []any{minimum, maximum} {
			if _, isFloat := bound.(float64); isFloat {
				return nil, failf(InvalidSchema, "min/max length must be integral")
			}
		}
	}
	return &Bounds{minimum, maximum}, nil
}

func newModulo(step, offset any) (*Modulo, error) {
	if step == nil || offset == nil {
		return nil, failf(InvalidSchema, "A modulo constraint must have a step value and an offset value specified.")
	}
	var whole [2]*big.Int
	for i, v := range []any{step, offset} {
		n, err := toInt(v)
		if err != nil || !value.Equal(n, v) {
			return nil, failf(InvalidSchema, "step/offset must be integer")
		}
		whole[i] = n
	}
	switch {
	case whole[0].Sign() == 0:
		return nil, failf(InvalidSchema, "step cannot be 0.")
	case whole[1].CmpAbs(whole[0]) >= 0:
		return nil, failf(InvalidSchema, "offset must be smaller (by absolute value) than step.")
	case whole[0].Sign()*whole[1].Sign() < 0:
		return nil, failf(InvalidSchema, "step and offset must be both positive or both negative.")
	}
	return &Modulo{whole[0], whole[1]}, nil
}

// within says whether a number is inside bounds.
func (b *Bounds) within(n any) bool {
	if order, ok := value.Compare(n, b.Min); ok && order < 0 {
		return false
	}
	order, ok := value.Compare(n, b.Max)
	return !ok || order <= 0
}

func (b *Bounds) text() string {
	return "(min: " + value.Str(b.Min) + ", max: " + value.Str(b.Max) + ")"
}

// Check says what is wrong with a value; convert makes values of its type.
func (c *Constraint) Check(v any, convert func(any) (any, error), services Constraints) error {
	return c.check(v, convert, services)
}

// check says what is wrong with a value of a type; convert makes values of the
// type.
func (c *Constraint) check(v any, convert func(any) (any, error), services Constraints) error {
	why, err := c.wrong(v, convert, services)
	if err != nil || why == "" {
		return err
	}
	if value.Truth(c.Description) {
		why = value.Str(c.Description)
	}
	return value.Errorf(ValueError, "%s", why)
}

// wrong is the text of what is wrong, "" if nothing is. The error is of a value
// that can't be looked at.
func (c *Constraint) wrong(v any, convert func(any) (any, error), services Constraints) (string, error) {
	switch {
	case c.Range != nil:
		n, err := value.ToNumber(v)
		if err == nil && !c.Range.within(n) {
			return value.Str(v) + " is out of range " + c.Range.text(), nil
		}
		return "", err
	case c.Length != nil:
		n, err := length(v)
		if err == nil && !c.Length.within(value.Int(n)) {
			return "length (" + value.Str(value.Int(n)) + ") is out of range " + c.Length.text(), nil
		}
		return "", err
	case c.Modulo != nil:
		return c.Modulo.wrong(v)
	case c.Allowed != nil:
		return c.notAllowed(v, convert)
	case c.Pattern != nil:
		text, ok := v.(string)
		if !ok {
			return "", value.Errorf(TypeError, "expected string or bytes-like object, got '%s'", value.TypeName(v))
		}
		matched, err := c.Pattern.Match(text)
		if err == nil && !matched {
			return `"` + text + `" does not match pattern "` + c.Pattern.Text + `"`, nil
		}
		return "", err
	}
	return c.custom(v, services)
}

func (m *Modulo) wrong(v any) (string, error) {
	n, err := value.ToNumber(v)
	if err != nil {
		return "", err
	}
	why := value.Str(v) + " is not a multiple of " + value.Str(m.Step) + " with an offset of " + value.Str(m.Offset)
	whole, err := toInt(n)
	if err != nil || !value.Equal(whole, n) {
		return why, nil
	}
	// The remainder has the sign of the step, as in the original's language.
	step := m.Step.(*big.Int)
	rest := new(big.Int).Rem(whole, step)
	if rest.Sign() != 0 && rest.Sign() != step.Sign() {
		rest.Add(rest, step)
	}
	if rest.Cmp(m.Offset.(*big.Int)) != 0 {
		return why, nil
	}
	return "", nil
}

func (c *Constraint) notAllowed(v any, convert func(any) (any, error)) (string, error) {
	allowed := func() (bool, error) {
		if list, ok := v.([]any); ok {
			for _, item := range list {
				if !value.In(item, c.Allowed) {
					return false, nil
				}
			}
			return true, nil
		}
		wanted, err := convert(v)
		if err != nil {
			return false, err
		}
		for _, a := range c.Allowed {
			one, err := convert(a)
			if err != nil {
				return false, err
			}
			if value.Equal(one, wanted) {
				return true, nil
			}
		}
		return false, nil
	}
	if ok, err := allowed(); ok || err != nil {
		return "", err
	}
	return value.JSON(v, false) + " is not an allowed value " + value.JSON(c.Allowed, false), nil
}

func (c *Constraint) custom(v any, services Constraints) (string, error) {
	if services == nil || !services.Known(c.Custom) {
		return `"` + value.Str(v) + `" does not validate ` + c.Custom + " (constraint not found)", nil
	}
	err := services.Check(c.Custom, v)
	if err == nil {
		return "", nil
	}
	fault := faults.As(err)
	if fault.Kind != faults.Invalid && fault.Kind != faults.NotFound {
		return "", err
	}
	why := "Error validating value '" + value.Str(v) + "'"
	if fault.Message != "" {
		why += ": " + fault.Message
	}
	return why, nil
}

// length is len(v).
func length(v any) (int, error) {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x), nil
	case []any:
		return len(x), nil
	case *value.Map:
		return x.Len(), nil
	}
	return 0, value.Errorf(TypeError, "object of type '%s' has no len()", value.TypeName(v))
}
