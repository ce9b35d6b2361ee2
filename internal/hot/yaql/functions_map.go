package yaql

// Functions of maps.

import (
	"holdfast.dev/internal/hot/value"
)

func mapFunctions() map[string]builtin {
	return map[string]builtin{
		"dict":          dict,
		"keys":          ofMap(func(_ *arguments, d *value.Map) (any, error) { return append([]any{}, d.Keys()...), nil }),
		"values":        ofMap(mapValues),
		"items":         ofMap(mapItems),
		"get":           ofMap(get),
		"containsKey":   ofMap(containsKey),
		"containsValue": ofMap(containsValue),
		"set":           set,
		"deleteAll":     ofMap(deleteAll),
		"toDict":        toDict,
		"groupBy":       groupBy,
		"mergeWith":     mergeWith,
	}
}

// dict makes a map of pairs: keyword arguments, or a collection of lists of two.
func dict(a *arguments) (any, error) {
	made := &value.Map{}
	put := func(key, v any) error {
		if err := hashable(key); err != nil {
			return err
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

func mapValues(_ *arguments, d *value.Map) (any, error) {
	list := make([]any, d.Len())
	for i := range list {
		_, list[i] = d.At(i)
	}
	return list, nil
}

func mapItems(_ *arguments, d *value.Map) (any, error) {
	list := make([]any, d.Len())
	for i := range list {
		key, v := d.At(i)
		list[i] = []any{key, v}
	}
	return list, nil
}

func get(a *arguments, d *value.Map) (any, error) {
	key, err := a.value(1)
	if err != nil {
		return nil, err
	}
	if v, there := d.Get(key); there {
		return v, nil
	}
	return a.or(2, "default", nil)
}

func containsKey(a *arguments, d *value.Map) (any, error) {
	key, err := a.value(1)
	return d.Has(key), err
}

func containsValue(a *arguments, d *value.Map) (any, error) {
	wanted, err := a.value(1)
	if err != nil {
		return nil, err
	}
	for i := range d.Len() {
		if _, v := d.At(i); a.m.equal(v, wanted) {
			return true, nil
		}
	}
	return false, nil
}

// set is a map with a key set, or with those of another map; as a function it makes
// a set of its arguments.
func set(a *arguments) (any, error) {
	if !a.method() {
		v, err := list(a)
		if err != nil {
			return nil, err
		}
		items, _ := v.([]any)
		return a.m.setOf(items), nil
	}
	d, err := a.dict(0)
	if err != nil {
		return nil, err
	}
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

func deleteAll(a *arguments, d *value.Map) (any, error) {
	keys, err := a.items(1)
	if err != nil {
		return nil, err
	}
	return d.Without(keys...), nil
}

func toDict(a *arguments) (any, error) {
	made := &value.Map{}
	err := a.eachPair(func(key, v any) { made.Set(key, v) })
	return made, err
}

// eachPair gives f the key and the value that lambdas make of each element.
func (a *arguments) eachPair(f func(key, v any)) error {
	if _, err := a.lambda(1); err != nil {
		return err
	}
	return a.each(0, func(item any) (more bool, err error) {
		key, err := a.applied(1, item)
		if err != nil {
			return false, err
		}
		v, err := a.made(2, item)
		if err != nil {
			return false, err
		}
		if err := hashable(key); err != nil {
			return false, err
		}
		f(key, v)
		return true, nil
	})
}

func hashable(key any) error {
	if !value.Hashable(key) {
		return value.Errorf("TypeError", "unhashable type: '%s'", value.TypeName(key))
	}
	return nil
}

// groupBy gives lists of a key and what belongs to it.
func groupBy(a *arguments) (any, error) {
	groups := &value.Map{}
	err := a.eachPair(func(key, v any) {
		group, _ := groups.Get(key)
		members, _ := group.([]any)
		groups.Set(key, append(members, v))
	})
	if err != nil {
		return nil, err
	}
	list := make([]any, groups.Len())
	for i := range list {
		key, members := groups.At(i)
		if members, err = a.made(3, members); err != nil {
			return nil, err
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
				if !m.has(x, item) {
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
