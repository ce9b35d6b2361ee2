package yaql

// Functions of maps.

import (
	"holdfast.dev/internal/hot/value"
)

func mapFunctions() map[string]builtin {
	return map[string]builtin{
		"dict":          dict,
		"keys":          func(a *arguments) (any, error) { d, err := a.dict(0); return append([]any{}, d.Keys()...), err },
		"values":        mapValues,
		"items":         mapItems,
		"get":           get,
		"containsKey":   func(a *arguments) (any, error) { return keyed(a, (*value.Map).Has) },
		"containsValue": containsValue,
		"set":           set,
		"deleteAll":     deleteAll,
		"toDict":        toDict,
		"groupBy":       groupBy,
		"mergeWith":     mergeWith,
	}
}

// dict makes a map of pairs: keyword arguments, or a collection of lists of two.
func dict(a *arguments) (any, error) {
	made := &value.Map{}
	put := func(key, v any) error {
		if !value.Hashable(key) {
			return value.Errorf("TypeError", "unhashable type: '%s'", value.TypeName(key))
		}
		made.Set(key, v)
		return a.m.fits(itemSize * 3 * made.Len())
	}
	if len(a.nodes) != 1 {
		for i := 0; i+1 < len(a.nodes); i += 2 {
			key, err := a.value(i)
			if err != nil {
				return nil, err
			}
			v, err := a.value(i + 1)
			if err != nil {
				return nil, err
			}
			if err := put(key, v); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	first, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if d, ok := first.(*value.Map); ok {
		return d, nil
	}
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		pair, err := a.m.collect(item)
		if err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, value.Errorf("StopIteration", "")
		}
		if err := put(pair[0], pair[1]); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func mapValues(a *arguments) (any, error) {
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	list := make([]any, d.Len())
	for i := range list {
		_, list[i] = d.At(i)
	}
	return list, nil
}

func mapItems(a *arguments) (any, error) {
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	list := make([]any, d.Len())
	for i := range list {
		key, v := d.At(i)
		list[i] = []any{key, v}
	}
	return list, nil
}

func get(a *arguments) (any, error) {
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	key, err := a.value(1)
	if err != nil {
		return nil, err
	}
	if v, there := d.Get(key); there {
		return v, nil
	}
	return a.or(2, "default", nil)
}

func keyed(a *arguments, f func(d *value.Map, key any) bool) (any, error) {
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	key, err := a.value(1)
	return f(d, key), err
}

func containsValue(a *arguments) (any, error) {
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	wanted, err := a.value(1)
	if err != nil {
		return nil, err
	}
	for i := range d.Len() {
		if _, v := d.At(i); value.Equal(v, wanted) {
			return true, nil
		}
	}
	return false, nil
}

// set is a map with a key set, or with those of another map; of other arguments
// it makes a set.
func set(a *arguments) (any, error) {
	if len(a.nodes) > 0 {
		first, err := a.value(0)
		if err != nil {
			return nil, err
		}
		if d, ok := first.(*value.Map); ok && len(a.nodes) > 1 {
			second, err := a.value(1)
			if err != nil {
				return nil, err
			}
			if other, ok := second.(*value.Map); ok && len(a.nodes) == 2 {
				return merged(d, other), nil
			}
			v, err := a.value(2)
			if err != nil {
				return nil, err
			}
			return merged(d, value.NewMap(second, v)), nil
		}
	}
	list := []any{}
	for i := range a.nodes {
		v, err := a.value(i)
		if err != nil {
			return nil, err
		}
		if !value.In(v, list) {
			list = append(list, v)
		}
	}
	return list, nil
}

func deleteAll(a *arguments) (any, error) {
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	keys, err := a.items(1)
	if err != nil {
		return nil, err
	}
	return d.Without(keys...), nil
}

func toDict(a *arguments) (any, error) {
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	key, err := a.lambda(1)
	if err != nil {
		return nil, err
	}
	made := &value.Map{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		k, err := a.m.apply(key, item)
		if err != nil {
			return nil, err
		}
		v := item
		if a.has(2) {
			if v, err = a.applied(2, item); err != nil {
				return nil, err
			}
		}
		if !value.Hashable(k) {
			return nil, value.Errorf("TypeError", "unhashable type: '%s'", value.TypeName(k))
		}
		made.Set(k, v)
	}
	return made, nil
}

// applied is the lambda at a place worked out for arguments.
func (a *arguments) applied(i int, args ...any) (any, error) {
	f, err := a.lambda(i)
	if err != nil {
		return nil, err
	}
	return a.m.apply(f, args...)
}

// groupBy gives lists of a key and what belongs to it.
func groupBy(a *arguments) (any, error) {
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	groups := &value.Map{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		key, err := a.applied(1, item)
		if err != nil {
			return nil, err
		}
		v := item
		if a.has(2) {
			if v, err = a.applied(2, item); err != nil {
				return nil, err
			}
		}
		if !value.Hashable(key) {
			return nil, value.Errorf("TypeError", "unhashable type: '%s'", value.TypeName(key))
		}
		group, _ := groups.Get(key)
		members, _ := group.([]any)
		groups.Set(key, append(members, v))
	}
	list := make([]any, groups.Len())
	for i := range list {
		key, members := groups.At(i)
		if a.has(3) {
			if members, err = a.applied(3, members); err != nil {
				return nil, err
			}
		}
		list[i] = []any{key, members}
	}
	return list, nil
}

// mergeWith merges maps in depth, with lists put together.
func mergeWith(a *arguments) (any, error) {
	left, err := a.dict(0)
	if err != nil {
		return nil, err
	}
	right, err := a.dict(1)
	if err != nil {
		return nil, err
	}
	if err := a.count(2, 2); err != nil {
		return nil, err
	}
	return a.m.merge(left, right)
}

func (m *machine) merge(left, right *value.Map) (any, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	made := left.Copy()
	for i := range right.Len() {
		key, v := right.At(i)
		old, there := left.Get(key)
		a, isMap := old.(*value.Map)
		b, both := v.(*value.Map)
		x, isList := old.([]any)
		y, too := v.([]any)
		var err error
		switch {
		case there && isMap && both:
			v, err = m.merge(a, b)
		case there && isList && too:
			list := append([]any{}, x...)
			for _, item := range y {
				if !value.In(item, x) {
					list = append(list, item)
				}
			}
			v, err = m.list(list)
		}
		if err != nil {
			return nil, err
		}
		made.Set(key, v)
	}
	return made, nil
}
