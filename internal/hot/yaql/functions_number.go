package yaql

// Functions of numbers, and of what is true.

import (
	"math"
	"math/big"

	"holdfast.dev/internal/hot/value"
)

func numberFunctions() map[string]builtin {
	return map[string]builtin{
		"int":       toInt,
		"float":     toFloat,
		"bool":      func(a *arguments) (any, error) { v, err := a.value(0); return value.Truth(v), err },
		"abs":       absolute,
		"sign":      signOf,
		"round":     round,
		"max":       extreme(1),
		"min":       extreme(-1),
		"isInteger": func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(*big.Int); return ok, err },
		"isNumber":  isNumber,
		"isBoolean": func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(bool); return ok, err },
	}
}

func toInt(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case nil:
		return value.Int(0), nil
	case bool:
		if x {
			return value.Int(1), nil
		}
		return value.Int(0), nil
	case *big.Int:
		return x, nil
	case float64:
		n, _ := big.NewFloat(x).Int(nil)
		return a.m.whole(n)
	case string:
		if n, ok := value.ToInt(x); ok {
			return a.m.whole(n)
		}
		return nil, value.Errorf("ValueError", "invalid literal for int() with base 10: %s", value.Short(x, 200))
	}
	return nil, mismatch{}
}

func toFloat(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return 0.0, nil
	}
	n, err := value.ToNumber(v)
	if err != nil {
		return nil, err
	}
	f, ok := float(n)
	if !ok {
		return nil, mismatch{}
	}
	return f, nil
}

func isNumber(a *arguments) (any, error) {
	v, err := a.value(0)
	_, ok := float(v)
	return ok, err
}

func absolute(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	switch n := v.(type) {
	case *big.Int:
		return new(big.Int).Abs(n), nil
	case float64:
		return math.Abs(n), nil
	}
	return nil, mismatch{}
}

func signOf(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	order, ok := compare(v, value.Int(0))
	if !ok {
		return nil, mismatch{}
	}
	return value.Int(order), nil
}

// round rounds to the even neighbour, to a number of digits if one is given.
func round(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	digits, err := a.int(1, "ndigits", 0)
	if err != nil {
		return nil, err
	}
	if n, ok := v.(*big.Int); ok && digits >= 0 {
		return n, nil
	}
	f, ok := float(v)
	if !ok || digits > 300 || digits < -300 {
		return nil, mismatch{}
	}
	scale := math.Pow(10, float64(digits))
	if math.IsInf(f*scale, 0) {
		return f, nil
	}
	return math.RoundToEven(f*scale) / scale, nil
}

// extreme is the greatest or the least of its arguments or of a collection.
func extreme(wanted int) builtin {
	return func(a *arguments) (any, error) {
		var best any
		first := true
		take := func(v any) error {
			if first {
				best, first = v, false
				return nil
			}
			order, ok := compare(v, best)
			if !ok {
				return noFunction("#operator_>")
			}
			if order == wanted {
				best = v
			}
			return nil
		}
		v, err := a.value(0)
		if err != nil {
			return nil, err
		}
		items, isCollection := a.m.each(v)
		if !isCollection {
			for i := range a.nodes {
				v, err := a.value(i)
				if err != nil {
					return nil, err
				}
				if err := take(v); err != nil {
					return nil, err
				}
			}
			return best, nil
		}
		initial, err := a.or(1, "initial", nil)
		if err != nil {
			return nil, err
		}
		if initial != nil {
			if err := take(initial); err != nil {
				return nil, err
			}
		}
		for item, err := range items {
			if err != nil {
				return nil, err
			}
			if err := take(item); err != nil {
				return nil, err
			}
		}
		if first {
			return nil, value.Errorf("TypeError", "reduce() of empty iterable with no initial value")
		}
		return best, nil
	}
}
