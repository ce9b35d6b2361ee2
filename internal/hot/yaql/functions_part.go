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
				held = truth(holds)
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

func insertMany(a *arguments, list []any) (any, error) {
	at, err := a.int(1, "position", 0)
	if err != nil {
		return nil, err
	}
	values, err := a.items(2)
	if err != nil {
		return nil, err
	}
	return a.m.list(slices.Insert(slices.Clone(list), max(0, min(at, len(list))), values...))
}

// replaceAt is a list with one value in the place of count elements.
func replaceAt(a *arguments, list []any) (any, error) {
	v, err := a.value(2)
	if err != nil {
		return nil, err
	}
	return a.replaced(list, []any{v})
}

// replaceMany is a list with other values in the place of count elements.
func replaceMany(a *arguments, list []any) (any, error) {
	values, err := a.items(2)
	if err != nil {
		return nil, err
	}
	return a.replaced(list, values)
}

// replaced is a list with values in the place of what the arguments 1 and 3 say.
func (a *arguments) replaced(list, values []any) (any, error) {
	at, err := a.int(1, "position", 0)
	if err != nil {
		return nil, err
	}
	n, err := a.int(3, "count", 1)
	if err != nil {
		return nil, err
	}
	end := len(list)
	if n >= 0 {
		end = min(at+n, end)
	}
	if at = max(0, at); at >= end {
		return list, nil
	}
	return a.m.list(slices.Replace(slices.Clone(list), at, end, values...))
}

func splitAt(a *arguments, list []any) (any, error) {
	at, err := a.int(1, "index", 0)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		at += len(list)
	}
	at = max(0, min(at, len(list)))
	return []any{list[:at], list[at:]}, nil
}

// splitWhere cuts a list at the elements of which a condition holds, which are left out.
func splitWhere(a *arguments, list []any) (any, error) {
	made, start := []any{}, 0
	for i, item := range list {
		cut, err := a.applied(1, item)
		if err != nil {
			return nil, err
		}
		if truth(cut) {
			made, start = append(made, list[start:i]), i+1
		}
	}
	if start < len(list) {
		made = append(made, list[start:])
	}
	return a.m.list(made)
}

// sliceWhere cuts a list where what the lambda makes of its elements changes.
func sliceWhere(a *arguments, list []any) (any, error) {
	made, start := []any{}, 0
	var before any
	for i, item := range list {
		now, err := a.applied(1, item)
		if err != nil {
			return nil, err
		}
		if i > 0 && !a.m.equal(now, before) {
			made, start = append(made, list[start:i]), i
		}
		before = now
	}
	if start < len(list) {
		made = append(made, list[start:])
	}
	return a.m.list(made)
}
