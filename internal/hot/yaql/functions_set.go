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
		"toSet":               ofList(func(a *arguments, list []any) (any, error) { return a.m.setOf(list), nil }),
		"isSet":               func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(unordered); return ok, err },
		"union":               ofSets((*machine).union),
		"intersect":           ofSets((*machine).intersect),
		"difference":          ofSets((*machine).less),
		"symmetricDifference": ofSets(func(m *machine, s, t unordered) unordered { return m.union(m.less(s, t), m.less(t, s)) }),
		"add":                 withValues((*machine).union),
		"remove":              withValues((*machine).less),
	}
}

// setOperators are the operators that two sets have of their own.
var setOperators = map[string]func(m *machine, s, t unordered) (any, error){
	"+":  func(m *machine, s, t unordered) (any, error) { return m.set(m.union(s, t)) },
	"-":  func(m *machine, s, t unordered) (any, error) { return m.less(s, t), nil },
	"<":  func(m *machine, s, t unordered) (any, error) { return len(s) < len(t) && m.within(s, t), nil },
	"<=": func(m *machine, s, t unordered) (any, error) { return m.within(s, t), nil },
	">":  func(m *machine, s, t unordered) (any, error) { return len(t) < len(s) && m.within(t, s), nil },
	">=": func(m *machine, s, t unordered) (any, error) { return m.within(t, s), nil },
}

// sets are the operands, if they are two sets.
func sets(x []any) (s, t unordered, both bool) {
	s, isSet := at(x, 0).(unordered)
	t, too := at(x, 1).(unordered)
	return s, t, isSet && too
}

func (m *machine) setOf(items []any) unordered { return m.union(unordered{}, items) }

// comparisons is how many, of one value with another, count as one step.
const comparisons = 50

// has says whether a value is among others. That counts as steps, since collections of
// collections take many; once there are too many it says anything, and the next step is
// the error.
func (m *machine) has(all []any, v any) bool {
	if m.steps += 1 + len(all)/comparisons; m.steps > m.limits.Steps {
		return true
	}
	return slices.ContainsFunc(all, func(item any) bool { return m.equal(item, v) })
}

func (m *machine) union(s, t unordered) unordered {
	both := slices.Clone(s)
	for _, v := range t {
		if !m.has(both, v) {
			both = append(both, v)
		}
	}
	return both
}

func (m *machine) intersect(s, t unordered) unordered {
	return slices.DeleteFunc(slices.Clone(s), func(v any) bool { return !m.has(t, v) })
}

func (m *machine) less(s, t unordered) unordered {
	return slices.DeleteFunc(slices.Clone(s), func(v any) bool { return m.has(t, v) })
}

func (m *machine) within(s, t unordered) bool {
	return !slices.ContainsFunc(s, func(v any) bool { return !m.has(t, v) })
}

func (m *machine) set(s unordered) (any, error) { return s, m.fits(listSize + itemSize*len(s)) }

// ofSets is a function of two sets that makes a third.
func ofSets(f func(m *machine, s, t unordered) unordered) builtin {
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
		return a.m.set(f(a.m, s, t))
	}
}

// withValues is a function of a set and of values that are taken for one.
func withValues(f func(m *machine, s, t unordered) unordered) builtin {
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
		return a.m.set(f(a.m, s, values))
	}
}

// equal says whether two values are equal, sets whatever their order. It counts as has does.
func (m *machine) equal(a, b any) bool {
	s, t, both := sets([]any{a, b})
	if both {
		return len(s) == len(t) && m.within(s, t)
	}
	most := (m.limits.Steps - m.steps + 1) * comparisons
	left := most
	is := value.EqualWithin(a, b, &left)
	m.steps += (most - left) / comparisons
	return is
}

// truth says whether a value holds as a condition.
func truth(v any) bool {
	if s, is := v.(unordered); is {
		return len(s) > 0
	}
	return value.Truth(v)
}
