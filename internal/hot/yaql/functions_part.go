package yaql

// Functions that leave out of a collection, or put in.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
)

// part keeps the first n elements, or all but those.
func part(head bool) builtin {
	return func(a *arguments) (any, error) {
		items, err := a.collection(0)
		if err != nil {
			return nil, err
		}
		n, err := a.int(1, "count", 0)
		if err != nil {
			return nil, err
		}
		return sequence(func(yield func(any, error) bool) {
			i := 0
			if head && n <= 0 {
				return
			}
			for item, err := range items {
				if err != nil {
					yield(nil, err)
					return
				}
				if i++; head == (i <= n) && !yield(item, nil) {
					return
				}
				if head && i == n {
					return
				}
			}
		}), nil
	}
}

// while keeps elements as long as a condition holds, or from where it doesn't.
func while(head bool) builtin {
	return func(a *arguments) (any, error) {
		made, held := []any{}, true
		err := a.each(0, func(item any) (more bool, err error) {
			if held {
				holds, err := a.applied(1, item)
				if err != nil {
					return false, err
				}
				held = value.Truth(holds)
			}
			if head == held {
				made = append(made, item)
			}
			return held || !head, nil
		})
		return made, err
	}
}

func appended(a *arguments, list []any) (any, error) {
	list = slices.Clone(list)
	for i := 1; a.has(i); i++ {
		v, err := a.value(i)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return a.m.list(list)
}

func insert(a *arguments, list []any) (any, error) {
	at, err := a.int(1, "position", 0)
	if err != nil {
		return nil, err
	}
	v, err := a.value(2)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		at += len(list)
	}
	at = max(0, min(at, len(list)))
	return a.m.list(slices.Insert(slices.Clone(list), at, v))
}

// deleted is a list without count elements at a place, or a map without keys.
func deleted(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if d, ok := v.(*value.Map); ok {
		keys := []any{}
		for i := 1; a.has(i); i++ {
			key, err := a.value(i)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
		return d.Without(keys...), nil
	}
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
	at, err := a.int(1, "position", 0)
	if err != nil {
		return nil, err
	}
	n, err := a.int(2, "count", 1)
	if err != nil {
		return nil, err
	}
	if at < 0 || at > len(list) {
		return list, nil
	}
	end := len(list)
	if n >= 0 {
		end = min(at+n, end)
	}
	return slices.Delete(slices.Clone(list), at, end), nil
}
