package hot

// Reading the arguments of functions as the original's language would.

import (
	"math"
	"math/big"

	"holdfast.dev/internal/hot/value"
)

// sequence is a list, or a text as a list of its characters.
func sequence(v any) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case string:
		list := make([]any, 0, len(x))
		for _, c := range x {
			list = append(list, string(c))
		}
		return list, true
	}
	return nil, false
}

// unpack is the n items of a list, of a text's characters or of a map's keys.
func unpack(v any, n int) ([]any, error) {
	list, ok := sequence(v)
	if m, isMap := v.(*value.Map); isMap {
		list, ok = m.Keys(), true
	}
	switch {
	case !ok:
		return nil, value.Errorf(TypeError, "cannot unpack non-iterable %s object", value.TypeName(v))
	case len(list) < n:
		return nil, value.Errorf(ValueError, "not enough values to unpack (expected %d, got %d)", n, len(list))
	case len(list) > n:
		return nil, value.Errorf(ValueError, "too many values to unpack (expected %d)", n)
	}
	return list, nil
}

// toInt is int(v) of a number or a text.
func toInt(v any) (*big.Int, error) {
	switch x := v.(type) {
	case bool:
		if x {
			return value.Int(1), nil
		}
		return new(big.Int), nil
	case *big.Int:
		return x, nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, value.Errorf(ValueError, "cannot convert float to integer")
		}
		n, _ := big.NewFloat(x).Int(nil)
		return n, nil
	case string:
		if n, ok := value.ToInt(x); ok {
			return n, nil
		}
		return nil, value.Errorf(ValueError, "invalid literal for int() with base 10: %s", value.Short(x, 200))
	}
	return nil, value.Errorf(TypeError,
		"int() argument must be a string, a bytes-like object or a real number, not '%s'", value.TypeName(v))
}

// item is list[index], with indexes from the end if they are negative.
func item(list []any, index *big.Int) (any, bool) {
	if !index.IsInt64() {
		return nil, false
	}
	i := index.Int64()
	if i < 0 {
		i += int64(len(list))
	}
	if i < 0 || i >= int64(len(list)) {
		return nil, false
	}
	return list[i], true
}

// step is collection[key] for a path into a value; false if there is no such
// thing. Whether a text may stand for an index is the caller's to say.
func step(collection, key any, texts bool) (any, bool) {
	if m, ok := collection.(*value.Map); ok {
		switch key.(type) {
		case string, bool, *big.Int:
			return m.Get(key)
		}
		return nil, false
	}
	list, ok := sequence(collection)
	if !ok {
		return nil, false
	}
	if text, isText := key.(string); isText {
		n, whole := value.ToInt(text)
		if !whole || !texts {
			return nil, false
		}
		key = n
	}
	switch key.(type) {
	case bool, *big.Int:
		n, err := toInt(key)
		if err != nil {
			return nil, false
		}
		return item(list, n)
	}
	return nil, false
}

// Select follows a path into the value of an attribute; what isn't there is
// nil.
func Select(v any, path []any) any {
	for _, key := range path {
		next, ok := step(v, key, false)
		if !ok {
			return nil
		}
		v = next
	}
	return v
}

// argument is a value of a map of arguments, nil if it isn't there.
func argument(m *value.Map, name string) any {
	v, _ := m.Get(name)
	return v
}

// isCall says whether an argument is a function.
func isCall(v any) bool {
	_, ok := v.(*call)
	return ok
}
