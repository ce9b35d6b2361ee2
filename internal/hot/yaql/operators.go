package yaql

// Operators.

import (
	"math"
	"math/big"
	"strings"

	"holdfast.dev/internal/hot/value"
)

func (m *machine) operate(op string, x []any) (any, error) {
	if s, t, both := sets(x); both && setOperators[op] != nil {
		return setOperators[op](m, s, t)
	}
	switch op {
	case "=":
		return m.equal(x[0], x[1]), nil
	case "!=":
		return !m.equal(x[0], x[1]), nil
	case "<", ">", "<=", ">=":
		order, ok := compare(x[0], x[1])
		if !ok {
			return nil, noFunction("#operator_" + op)
		}
		switch op {
		case "<":
			return order < 0, nil
		case ">":
			return order > 0, nil
		case "<=":
			return order <= 0, nil
		}
		return order >= 0, nil
	case "in":
		return m.in(x[0], x[1])
	case "unary not":
		return !truth(x[0]), nil
	case "unary -", "unary +":
		return m.sign(op, x[0])
	case "index":
		return m.index(x)
	case "=~", "!~":
		text, ok := x[0].(string)
		pattern, err := m.pattern(x[1])
		if !ok || err != nil {
			return nil, noFunction("#operator_" + op)
		}
		return pattern.MatchString(text) == (op == "=~"), nil
	}
	return m.arithmetic(op, x[0], x[1])
}

// compare orders numbers, and texts.
func compare(a, b any) (int, bool) {
	s, ok := a.(string)
	t, both := b.(string)
	if ok && both {
		return strings.Compare(s, t), true
	}
	if _, isBool := a.(bool); isBool {
		return 0, false
	}
	if _, isBool := b.(bool); isBool {
		return 0, false
	}
	return value.Compare(a, b)
}

func (m *machine) in(v, all any) (any, error) {
	if text, ok := all.(string); ok {
		part, ok := v.(string)
		if !ok {
			return nil, noFunction("#operator_in")
		}
		return strings.Contains(text, part), nil
	}
	items, ok := m.each(all)
	if !ok {
		return nil, noFunction("#operator_in")
	}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if m.equal(item, v) {
			return true, nil
		}
	}
	return false, nil
}

func (m *machine) sign(op string, v any) (any, error) {
	switch n := v.(type) {
	case *big.Int:
		if op == "unary -" {
			return m.whole(new(big.Int).Neg(n))
		}
		return n, nil
	case float64:
		if op == "unary -" {
			return -n, nil
		}
		return n, nil
	}
	return nil, noFunction("#unary_operator_" + op[len(op)-1:])
}

// index is an element of a list, or the value of a map's key, with a default if
// there is a second argument.
func (m *machine) index(x []any) (any, error) {
	if d, ok := x[0].(*value.Map); ok && len(x) >= 2 {
		if v, there := d.Get(x[1]); there {
			return v, nil
		}
		if len(x) == 3 {
			return x[2], nil
		}
		return nil, value.Errorf("KeyError", "%s", value.Repr(x[1]))
	}
	n, isInt := at(x, 1).(*big.Int)
	if !isInt || len(x) != 2 {
		return nil, noFunction("#indexer")
	}
	_, isSet := x[0].(unordered)
	if _, ok := m.each(x[0]); !ok || isSet {
		return nil, noFunction("#indexer")
	}
	list, err := m.collect(x[0])
	if err != nil {
		return nil, err
	}
	i := len(list)
	if n.IsInt64() && n.Int64() > -int64(len(list))-1 && n.Int64() < int64(len(list)) {
		i = int(n.Int64())
	}
	if i < 0 {
		i += len(list)
	}
	if i >= len(list) {
		return nil, value.Errorf("IndexError", "tuple index out of range")
	}
	return list[i], nil
}

func at(x []any, i int) any {
	if i < len(x) {
		return x[i]
	}
	return nil
}

func (m *machine) arithmetic(op string, a, b any) (any, error) {
	i, isInt := a.(*big.Int)
	j, both := b.(*big.Int)
	if isInt && both {
		return m.integers(op, i, j)
	}
	x, isNumber := float(a)
	y, too := float(b)
	if isNumber && too {
		return floats(op, x, y)
	}
	if op == "*" {
		if both {
			return m.repeat(a, j)
		}
		if isInt {
			return m.repeat(b, i)
		}
	}
	if op != "+" {
		return nil, noFunction("#operator_" + op)
	}
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return m.text(s + t)
		}
		return nil, noFunction("#operator_+")
	}
	if d, ok := a.(*value.Map); ok {
		if e, ok := b.(*value.Map); ok {
			return merged(d, e), nil
		}
		return nil, noFunction("#operator_+")
	}
	_, left := m.each(a)
	_, right := m.each(b)
	if !left || !right {
		return nil, noFunction("#operator_+")
	}
	first, err := m.collect(a)
	if err != nil {
		return nil, err
	}
	second, err := m.collect(b)
	if err != nil {
		return nil, err
	}
	return m.list(append(append([]any{}, first...), second...))
}

func merged(a, b *value.Map) *value.Map {
	c := a.Copy()
	for i := range b.Len() {
		key, v := b.At(i)
		c.Set(key, v)
	}
	return c
}

func float(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(n).Float64()
		return f, true
	}
	return 0, false
}

func (m *machine) integers(op string, a, b *big.Int) (any, error) {
	switch op {
	case "+":
		return m.whole(new(big.Int).Add(a, b))
	case "-":
		return m.whole(new(big.Int).Sub(a, b))
	case "*":
		if err := m.fits((a.BitLen() + b.BitLen()) / 8); err != nil {
			return nil, err
		}
		return m.whole(new(big.Int).Mul(a, b))
	}
	if b.Sign() == 0 {
		return nil, value.Errorf("ZeroDivisionError", "integer division or modulo by zero")
	}
	// Quotients are rounded down, and remainders have the divisor's sign.
	quotient, rest := new(big.Int).QuoRem(a, b, new(big.Int))
	if rest.Sign() != 0 && rest.Sign() != b.Sign() {
		quotient.Sub(quotient, big.NewInt(1))
		rest.Add(rest, b)
	}
	if op == "/" {
		return m.whole(quotient)
	}
	return m.whole(rest)
}

func floats(op string, a, b float64) (any, error) {
	var c float64
	switch op {
	case "+":
		c = a + b
	case "-":
		c = a - b
	case "*":
		c = a * b
	default:
		if b == 0 {
			return nil, value.Errorf("ZeroDivisionError", "float division by zero")
		}
		if c = a / b; op == "mod" {
			c = a - b*math.Floor(a/b)
		}
	}
	if math.IsInf(c, 0) || math.IsNaN(c) {
		return nil, value.Errorf("OverflowError", "the result is no finite number")
	}
	return c, nil
}

// repeat is a text or a list n times.
func (m *machine) repeat(v any, n *big.Int) (any, error) {
	times := 0
	if n.Sign() > 0 {
		times = m.limits.Memory + 1
		if n.IsInt64() {
			times = int(min(n.Int64(), int64(times)))
		}
	}
	switch x := v.(type) {
	case string:
		if err := m.fits(textSize + len(x)*times); err != nil {
			return nil, err
		}
		return strings.Repeat(x, times), nil
	case []any:
		if err := m.fits(listSize + itemSize*len(x)*times); err != nil {
			return nil, err
		}
		list := make([]any, 0, len(x)*times)
		for range times {
			list = append(list, x...)
		}
		return list, nil
	}
	return nil, noFunction("#operator_*")
}
