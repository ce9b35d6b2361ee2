package yaql

// Functions that make one value of a collection.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/hot/value"
)

func length(a *arguments) (any, error) {
	if err := a.count(1, 1); err != nil {
		return nil, err
	}
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case string:
		return value.Int(utf8.RuneCountInString(x)), nil
	case *value.Map:
		return value.Int(x.Len()), nil
	case []any:
		return value.Int(len(x)), nil
	}
	return count(a)
}

func count(a *arguments) (any, error) {
	list, err := a.items(0)
	return value.Int(len(list)), err
}

func sum(a *arguments) (any, error) {
	total, err := a.or(1, "initial", nil)
	if err != nil {
		return nil, err
	}
	return a.reduce(total, total != nil, func(total, item any) (any, error) { return a.m.arithmetic("+", total, item) })
}

// reduce makes one of all elements, beginning with the first unless it has
// started with total.
func (a *arguments) reduce(total any, started bool, f func(total, item any) (any, error)) (any, error) {
	err := a.each(0, func(item any) (more bool, err error) {
		if !started {
			total, started = item, true
			return true, nil
		}
		total, err = f(total, item)
		return true, err
	})
	if err == nil && !started {
		err = value.Errorf("TypeError", "reduce() of empty iterable with no initial value")
	}
	if err != nil {
		return nil, err
	}
	return total, nil
}

func aggregate(a *arguments) (any, error) {
	total, err := a.or(2, "seed", nil)
	if err != nil {
		return nil, err
	}
	return a.reduce(total, a.given(2, "seed"), func(total, item any) (any, error) { return a.applied(1, total, item) })
}

// accumulate is what reduce comes to, element by element.
func accumulate(a *arguments) (any, error) {
	total, err := a.or(2, "seed", nil)
	if err != nil {
		return nil, err
	}
	all, started := []any{}, a.given(2, "seed")
	if started {
		all = append(all, total)
	}
	err = a.each(0, func(item any) (more bool, err error) {
		if total, err = item, nil; started {
			total, err = a.applied(1, all[len(all)-1], item)
		}
		all, started = append(all, total), true
		return true, err
	})
	if err == nil && !started {
		err = value.Errorf("TypeError", "accumulate() of empty sequence with no initial value")
	}
	if err != nil {
		return nil, err
	}
	return a.m.list(all)
}

func empty() error { return value.Errorf("StopIteration", "") }

func first(a *arguments) (any, error) {
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	for item, err := range items {
		return item, err
	}
	return a.orEmpty()
}

// orEmpty is the default that first and last may have.
func (a *arguments) orEmpty() (any, error) {
	if a.given(1, "default") {
		return a.or(1, "default", nil)
	}
	return nil, empty()
}

func last(a *arguments, list []any) (any, error) {
	if len(list) > 0 {
		return list[len(list)-1], nil
	}
	return a.orEmpty()
}

func single(_ *arguments, list []any) (any, error) {
	switch {
	case len(list) == 0:
		return nil, empty()
	case len(list) > 1:
		return nil, value.Errorf("StopIteration", "Collection contains more than one item")
	}
	return list[0], nil
}

func anyOf(a *arguments) (any, error) {
	found := false
	err := a.each(0, func(item any) (more bool, err error) {
		holds := any(true)
		if a.has(1) {
			holds, err = a.applied(1, item)
		}
		found = err == nil && truth(holds)
		return !found, err
	})
	return found, err
}

func allOf(a *arguments) (any, error) {
	all := true
	err := a.each(0, func(item any) (more bool, err error) {
		holds, err := a.made(1, item)
		all = err == nil && truth(holds)
		return all, err
	})
	return all, err
}

// swapped is contains: in with its operands the other way round.
func swapped(a *arguments) (any, error) {
	all, err := a.value(0)
	if err != nil {
		return nil, err
	}
	v, err := a.value(1)
	if err != nil {
		return nil, err
	}
	return a.m.in(v, all)
}

func indexOf(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	wanted, err := a.value(1)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		part, ok := wanted.(string)
		if !ok {
			return nil, mismatch{}
		}
		return runeIndex(s, strings.Index(s, part)), nil
	}
	list, err := a.items(0)
	return value.Int(slices.IndexFunc(list, func(item any) bool { return a.m.equal(item, wanted) })), err
}

func indexWhere(a *arguments, list []any) (any, error) {
	for i, item := range list {
		holds, err := a.applied(1, item)
		if err != nil || truth(holds) {
			return value.Int(i), err
		}
	}
	return value.Int(-1), nil
}

func lastIndexWhere(a *arguments, list []any) (any, error) {
	for i, item := range slices.Backward(list) {
		holds, err := a.applied(1, item)
		if err != nil || truth(holds) {
			return value.Int(i), err
		}
	}
	return value.Int(-1), nil
}
