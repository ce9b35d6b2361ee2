package yaql

// Functions of numbers, and of what is true.

import (
	"fmt"
	"math"
	"math/big"

	"holdfast.dev/internal/hot/value"
)

func numberFunctions() map[string]builtin {
	return map[string]builtin{
		"int":       toInt,
		"float":     toFloat,
		"bool":      func(a *arguments) (any, error) { v, err := a.value(0); return truth(v), err },
		"abs":       absolute,
		"sign":      signOf,
		"round":     round,
		"max":       extreme(1),
		"min":       extreme(-1),
		"isInteger": func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(*big.Int); return ok, err },
		"isNumber":  isNumber,
		"pow":       power,
		"hex":       hex,

		"bitwiseAnd":     ofWholes(2, func(x []*big.Int) *big.Int { return x[0].And(x[0], x[1]) }),
		"bitwiseOr":      ofWholes(2, func(x []*big.Int) *big.Int { return x[0].Or(x[0], x[1]) }),
		"bitwiseXor":     ofWholes(2, func(x []*big.Int) *big.Int { return x[0].Xor(x[0], x[1]) }),
		"bitwiseNot":     ofWholes(1, func(x []*big.Int) *big.Int { return x[0].Not(x[0]) }),
		"shiftBitsLeft":  shift(true),
		"shiftBitsRight": shift(false),

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

// wholeAt is the argument at a place as an integer of its own; what is true is 1.
func (a *arguments) wholeAt(i int) (*big.Int, error) {
	v, err := a.value(i)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case *big.Int:
		return new(big.Int).Set(x), nil
	case bool:
		if x {
			return big.NewInt(1), nil
		}
		return new(big.Int), nil
	}
	return nil, mismatch{}
}

// ofWholes is a function of so many integers, which it may change.
func ofWholes(n int, f func(x []*big.Int) *big.Int) builtin {
	return func(a *arguments) (any, error) {
		if err := a.count(n, n); err != nil {
			return nil, err
		}
		x := make([]*big.Int, n)
		for i := range x {
			var err error
			if x[i], err = a.wholeAt(i); err != nil {
				return nil, err
			}
		}
		return a.m.whole(f(x))
	}
}

// shift moves an integer's bits.
func shift(left bool) builtin {
	return func(a *arguments) (any, error) {
		n, err := a.wholeAt(0)
		if err != nil {
			return nil, err
		}
		bits, err := a.int(1, "bitsNumber", 0)
		switch {
		case err != nil:
			return nil, err
		case bits < 0:
			return nil, value.Errorf("ValueError", "negative shift count")
		case !left:
			return n.Rsh(n, uint(bits)), nil
		}
		if err := a.m.fits((n.BitLen() + bits) / 8); err != nil {
			return nil, err
		}
		return a.m.whole(n.Lsh(n, uint(bits)))
	}
}

func hex(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	switch n := v.(type) {
	case *big.Int:
		return a.m.text(fmt.Sprintf("%#x", n))
	case nil, float64:
		return nil, value.Errorf("TypeError", "'%s' object cannot be interpreted as an integer", value.TypeName(v))
	}
	return nil, mismatch{}
}

// power is a number to the power of another, by the modulus of a third if there is one.
func power(a *arguments) (any, error) {
	var x [2]any
	for i := range x {
		var err error
		if x[i], err = a.value(i); err != nil {
			return nil, err
		}
	}
	by, err := a.or(2, "c", nil)
	if err != nil {
		return nil, err
	}
	base, isInt := x[0].(*big.Int)
	exponent, both := x[1].(*big.Int)
	modulus, all := by.(*big.Int)
	switch {
	case by != nil && !(isInt && both && all):
		return nil, value.Errorf("TypeError", "pow() 3rd argument not allowed unless all arguments are integers")
	case by != nil:
		return a.m.powerBy(base, exponent, modulus)
	case isInt && both && exponent.Sign() >= 0:
		if base.BitLen() > 1 && (!exponent.IsInt64() || a.m.fits(int(min(exponent.Int64(), 1<<40))*base.BitLen()/8) != nil) {
			return nil, a.m.fits(a.m.limits.Memory + 1)
		}
		if base.BitLen() <= 1 && exponent.Sign() > 0 {
			exponent = big.NewInt(2 - int64(exponent.Bit(0))) // of -1, 0 and 1 it matters only whether it is even
		}
		return a.m.whole(new(big.Int).Exp(base, exponent, nil))
	}
	f, isNumber := float(x[0])
	g, too := float(x[1])
	switch {
	case !isNumber || !too:
		return nil, mismatch{}
	case f == 0 && g < 0:
		return nil, value.Errorf("ZeroDivisionError", "0.0 cannot be raised to a negative power")
	}
	power := math.Pow(f, g)
	switch {
	case math.IsNaN(power):
		return nil, value.Errorf("TypeError", "Object of type complex is not JSON serializable")
	case math.IsInf(power, 0):
		return nil, value.Errorf("OverflowError", "Numerical result out of range")
	}
	return power, nil
}

// powerBy is a power by a modulus, whose sign it has.
func (m *machine) powerBy(base, exponent, modulus *big.Int) (any, error) {
	if modulus.Sign() == 0 {
		return nil, value.Errorf("ValueError", "pow() 3rd argument cannot be 0")
	}
	// It takes a time that grows with both.
	if err := m.fits(exponent.BitLen() * modulus.BitLen() / 64); err != nil {
		return nil, err
	}
	power := new(big.Int).Exp(base, exponent, new(big.Int).Abs(modulus))
	if power == nil {
		return nil, value.Errorf("ValueError", "base is not invertible for the given modulus")
	}
	if modulus.Sign() < 0 && power.Sign() > 0 {
		power.Add(power, modulus)
	}
	return m.whole(power)
}
