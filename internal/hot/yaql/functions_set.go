package yaql

// Sets: their functions and operators, and what is equal and true with them.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
)

// unordered is a set, with its elements in the order in which they came.
type unordered []any

func setFunctions() map[string]builtin {
	return map[string]builtin{
		"toSet":               ofList(func(_ *arguments, list []any) (any, error) { return setOf(list), nil }),
		"isSet":               func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(unordered); return ok, err },
		"union":               ofSets(unordered.union),
		"intersect":           ofSets(unordered.intersect),
		"difference":          ofSets(unordered.less),
		"symmetricDifference": ofSets(func(s, t unordered) unordered { return s.less(t).union(t.less(s)) }),
		"add":                 withValues(unordered.union),
		"remove":              withValues(unordered.less),
	}
}

// setOperators are the operators that two sets have of their own.
var setOperators = map[string]func(m *machine, s, t unordered) (any, error){
	"+":  func(m *machine, s, t unordered) (any, error) { return m.set(s.union(t)) },
	"-":  func(_ *machine, s, t unordered) (any, error) { return s.less(t), nil },
	"<":  func(_ *machine, s, t unordered) (any, error) { return s.within(t) && len(s) < len(t), nil },
	"<=": func(_ *machine, s, t unordered) (any, error) { return s.within(t), nil },
	">":  func(_ *machine, s, t unordered) (any, error) { return t.within(s) && len(t) < len(s), nil },
	">=": func(_ *machine, s, t unordered) (any, error) { return t.within(s), nil },
}

// sets are the operands, if they are two sets.
func sets(x []any) (s, t unordered, both bool) {
	s, isSet := at(x, 0).(unordered)
	t, too := at(x, 1).(unordered)
	return s, t, isSet && too
}

func setOf(items []any) unordered { return unordered{}.union(items) }

func (s unordered) has(v any) bool {
	return slices.ContainsFunc(s, func(item any) bool { return equal(item, v) })
}

func (s unordered) union(t unordered) unordered {
	both := slices.Clone(s)
	for _, v := range t {
		if !both.has(v) {
			both = append(both, v)
		}
	}
	return both
}

func (s unordered) intersect(t unordered) unordered {
	return slices.DeleteFunc(slices.Clone(s), func(v any) bool { return !t.has(v) })
}

func (s unordered) less(t unordered) unordered {
	return slices.DeleteFunc(slices.Clone(s), t.has)
}

func (s unordered) within(t unordered) bool { return len(s.less(t)) == 0 }

func (m *machine) set(s unordered) (any, error) { return s, m.fits(listSize + itemSize*len(s)) }

// ofSets is a function of two sets that makes a third.
func ofSets(f func(s, t unordered) unordered) builtin {
	return func(a *arguments) (any, error) {
		if err := a.count(2, 2); err != nil {
			return nil, err
		}
		var x [2]any
		for i := range x {
			var err error
			if x[i], err = a.value(i); err != nil {
				return nil, err
			}
		}
		s, t, both := sets(x[:])
		if !both {
			return nil, mismatch{}
		}
		return a.m.set(f(s, t))
	}
}

// withValues is a function of a set and of values that are taken for one.
func withValues(f func(s, t unordered) unordered) builtin {
	return func(a *arguments) (any, error) {
		v, err := a.value(0)
		if err != nil {
			return nil, err
		}
		s, ok := v.(unordered)
		if !ok {
			return nil, mismatch{}
		}
		var values unordered
		for i := 1; a.has(i); i++ {
			if v, err = a.value(i); err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return a.m.set(f(s, values))
	}
}

// equal says whether two values are equal, sets whatever their order.
func equal(a, b any) bool {
	s, t, both := sets([]any{a, b})
	if both {
		return s.within(t) && len(s) == len(t)
	}
	return value.Equal(a, b)
}

// truth says whether a value holds as a condition.
func truth(v any) bool {
	if s, is := v.(unordered); is {
		return len(s) > 0
	}
	return value.Truth(v)
}
