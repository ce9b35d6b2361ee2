package value

// What Python does with values: equality, truth, text, names of types.

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"

	"holdfast.dev/internal/pyjson"
)

// Error is an exception of the original's language: the class and the text.
type Error struct {
	Class   string
	Message string
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error.
func Errorf(class, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// Int is an integer value.
func Int(n int) *big.Int { return big.NewInt(int64(n)) }

// Of takes in what Go programs and JSON bodies have: any integer or float, maps
// with string keys (in the order of their names), slices, pyjson's objects.
// What it doesn't know becomes its text.
func Of(v any) any {
	switch x := v.(type) {
	case nil, bool, string, *big.Int, float64, *Map:
		return x
	case int:
		return Int(x)
	case int64:
		return big.NewInt(x)
	case int32:
		return Int(int(x))
	case float32:
		return float64(x)
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			list[i] = Of(item)
		}
		return list
	case []string:
		list := make([]any, len(x))
		for i, item := range x {
			list[i] = item
		}
		return list
	case map[string]any:
		names := make([]string, 0, len(x))
		for name := range x {
			names = append(names, name)
		}
		sort.Strings(names)
		m := &Map{}
		for _, name := range names {
			m.Set(name, Of(x[name]))
		}
		return m
	case *pyjson.Object:
		m := &Map{}
		for _, key := range x.Keys() {
			item, _ := x.Get(key)
			m.Set(key, Of(item))
		}
		return m
	}
	return fmt.Sprint(v)
}

// numeric is v as a number; booleans are 0 and 1.
func numeric(v any) (any, bool) {
	switch n := v.(type) {
	case bool:
		if n {
			return Int(1), true
		}
		return Int(0), true
	case *big.Int, float64:
		return n, true
	}
	return nil, false
}

// Compare orders two numbers; false if one is none.
func Compare(a, b any) (int, bool) {
	x, ok := numeric(a)
	if !ok {
		return 0, false
	}
	y, ok := numeric(b)
	if !ok {
		return 0, false
	}
	return pyjson.Compare(x, y)
}

// Equal is Python's ==: 1, 1.0 and True are equal, maps are equal in any order.
func Equal(a, b any) bool {
	most := math.MaxInt
	return EqualWithin(a, b, &most)
}

// EqualWithin is Equal by at most so many comparisons, which are counted down; nothing
// is equal after those.
func EqualWithin(a, b any, most *int) bool {
	if *most--; *most < 0 {
		return false
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !EqualWithin(x[i], y[i], most) {
				return false
			}
		}
		return true
	case *Map:
		y, ok := b.(*Map)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i, key := range x.Keys() {
			item, there := y.Get(key)
			if !there || !EqualWithin(x.values[i], item, most) {
				return false
			}
		}
		return true
	}
	order, ok := Compare(a, b)
	return ok && order == 0
}

// In says whether a list has an item equal to v.
func In(v any, list []any) bool {
	for _, item := range list {
		if Equal(v, item) {
			return true
		}
	}
	return false
}

// Truth is Python's bool(v).
func Truth(v any) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case string:
		return x != ""
	case *big.Int:
		return x.Sign() != 0
	case float64:
		return x != 0
	case []any:
		return len(x) > 0
	case *Map:
		return x.Len() > 0
	}
	return true
}

// TypeName is the name of a value's Python type.
func TypeName(v any) string { return pyjson.TypeName(v) }

// Str is Python's str(v), and Repr its repr(v).
func Str(v any) string  { return pyjson.Str(v) }
func Repr(v any) string { return pyjson.Repr(v) }

// Short is the first n characters of repr(v), made without the rest of it.
func Short(v any, n int) string {
	switch x := v.(type) {
	case []any:
		if len(x) > n {
			v = x[:n]
		}
	case string:
		if len(x) > 4*n {
			v = strings.ToValidUTF8(x[:4*n], "")
		}
	}
	text := []rune(Repr(v))
	if len(text) > n {
		text = text[:n]
	}
	return string(text)
}

// maxDigits is how long a number's text may be, as in Python.
const maxDigits = 4300

// ToInt is Python's int(text) of a string.
func ToInt(text string) (*big.Int, bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxDigits || !underscored(text) {
		return nil, false
	}
	return new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), 10)
}

// underscored says whether underscores stand only between digits.
func underscored(text string) bool {
	return !strings.HasPrefix(text, "_") && !strings.HasSuffix(text, "_") && !strings.Contains(text, "__") &&
		!strings.HasPrefix(text, "+_") && !strings.HasPrefix(text, "-_")
}

// ToNumber is a number, or the number a text holds: whole if it can be. What
// JSON can't hold, an infinity or no number, is none.
func ToNumber(v any) (any, error) {
	if n, ok := numeric(v); ok {
		if f, isFloat := n.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, Errorf("ValueError", "%s is not a finite number", Repr(f))
		}
		if _, isBool := v.(bool); isBool {
			return v, nil
		}
		return n, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, Errorf("TypeError",
			"int() argument must be a string, a bytes-like object or a real number, not '%s'", TypeName(v))
	}
	if n, whole := ToInt(text); whole {
		return n, nil
	}
	plain := strings.TrimSpace(text)
	if underscored(plain) && !strings.ContainsAny(plain, "xXpP") {
		f, err := strconv.ParseFloat(strings.ReplaceAll(plain, "_", ""), 64)
		if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
	}
	return nil, Errorf("ValueError", "could not convert string to float: %s", Short(text, 200))
}

// ToBool reads a boolean as strictly as oslo.utils does.
func ToBool(v any) (bool, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	switch strings.ToLower(strings.TrimSpace(Str(v))) {
	case "1", "t", "true", "on", "y", "yes":
		return true, nil
	case "0", "f", "false", "off", "n", "no":
		return false, nil
	}
	return false, Errorf("ValueError", "Unrecognized value '%s', acceptable values are: "+
		"'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", Str(v))
}

// Clip is the first n characters of a text.
func Clip(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
