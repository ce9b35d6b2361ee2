package yaql

// Functions of collections: the table of all, and those that make other
// collections.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
)

func collectionFunctions() map[string]builtin {
	return map[string]builtin{
		"list":              list,
		"toList":            func(a *arguments) (any, error) { l, err := a.items(0); return l, err },
		"memorize":          func(a *arguments) (any, error) { l, err := a.items(0); return l, err },
		"len":               length,
		"count":             count,
		"sum":               sum,
		"select":            through(selected),
		"map":               through(selected),
		"where":             through(where),
		"filter":            through(where),
		"selectMany":        through(selectMany),
		"flatten":           ofList(flatten),
		"distinct":          distinct,
		"first":             first,
		"last":              ofList(last),
		"single":            ofList(single),
		"any":               anyOf,
		"all":               allOf,
		"contains":          func(a *arguments) (any, error) { return swapped(a) },
		"reverse":           ofList(reverse),
		"orderBy":           orderBy(false, false),
		"orderByDescending": orderBy(true, false),
		"thenBy":            orderBy(false, true),
		"thenByDescending":  orderBy(true, true),
		"zip":               zip(false),
		"zipLongest":        zip(true),
		"enumerate":         ofList(enumerate),
		"range":             rangeOf,
		"skip":              part(false),
		"limit":             part(true),
		"take":              part(true),
		"takeWhile":         while(true),
		"skipWhile":         while(false),
		"aggregate":         aggregate,
		"reduce":            aggregate,
		"append":            ofList(appended),
		"accumulate":        accumulate,
		"insert":            ofList(insert),
		"insertMany":        ofList(insertMany),
		"replaceMany":       ofList(replaceMany),
		"splitAt":           ofList(splitAt),
		"splitWhere":        ofList(splitWhere),
		"sliceWhere":        ofList(sliceWhere),
		"delete":            deleted,
		"indexOf":           indexOf,
		"indexWhere":        ofList(indexWhere),
		"lastIndexWhere":    ofList(lastIndexWhere),
		"defaultIfEmpty":    ofList(defaultIfEmpty),
		"slice":             ofList(slice),
	}
}

// through is a function that turns each element into others, as they are asked
// for.
func through(f func(a *arguments, item any) ([]any, error)) builtin {
	return func(a *arguments) (any, error) {
		if err := a.count(2, 2); err != nil {
			return nil, err
		}
		items, err := a.collection(0)
		if err != nil {
			return nil, err
		}
		return sequence(func(yield func(any, error) bool) {
			for item, err := range items {
				if err != nil {
					yield(nil, err)
					return
				}
				made, err := f(a, item)
				if err != nil {
					yield(nil, err)
					return
				}
				for _, v := range made {
					if !yield(v, nil) {
						return
					}
				}
			}
		}), nil
	}
}

func selected(a *arguments, item any) ([]any, error) {
	v, err := a.applied(1, item)
	return []any{v}, err
}

func where(a *arguments, item any) ([]any, error) {
	holds, err := a.applied(1, item)
	if err != nil || !truth(holds) {
		return nil, err
	}
	return []any{item}, nil
}

func selectMany(a *arguments, item any) ([]any, error) {
	v, err := a.applied(1, item)
	if err != nil {
		return nil, err
	}
	if _, isMap := v.(*value.Map); isMap {
		return []any{v}, nil
	}
	if _, ok := a.m.each(v); !ok {
		return []any{v}, nil
	}
	return a.m.collect(v)
}

// list is the arguments as a list, with what is made as it is read put in.
func list(a *arguments) (any, error) {
	made := []any{}
	for i := range a.nodes {
		v, err := a.value(i)
		if err != nil {
			return nil, err
		}
		switch v.(type) {
		case sequence, ordered:
			items, err := a.m.collect(v)
			if err != nil {
				return nil, err
			}
			made = append(made, items...)
		default:
			made = append(made, v)
		}
	}
	return a.m.list(made)
}

func flatten(a *arguments, list []any) (any, error) { return a.m.flat(nil, list) }

func (m *machine) flat(made, items []any) (any, error) {
	if made == nil {
		made = []any{}
	}
	for _, item := range items {
		if err := m.step(); err != nil {
			return nil, err
		}
		_, isMap := item.(*value.Map)
		if _, ok := m.each(item); !ok || isMap {
			made = append(made, item)
			continue
		}
		inner, err := m.collect(item)
		if err != nil {
			return nil, err
		}
		flat, err := m.flat(made, inner)
		if err != nil {
			return nil, err
		}
		made = flat.([]any)
	}
	return m.list(made)
}

// distinct is each element once, by a key if there is a lambda.
func distinct(a *arguments) (any, error) {
	made, keys := []any{}, []any{}
	err := a.each(0, func(item any) (more bool, err error) {
		key, err := a.made(1, item)
		if err == nil && !a.m.has(keys, key) {
			made, keys = append(made, item), append(keys, key)
		}
		return true, err
	})
	return made, err
}

func reverse(_ *arguments, list []any) (any, error) {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, nil
}

// zip makes rows of collections, as many as the shortest has elements, or the longest:
// what the others lack is the default.
func zip(longest bool) builtin {
	return func(a *arguments) (any, error) {
		var lists [][]any
		rows := -1
		for i := range a.nodes {
			list, err := a.items(i)
			if err != nil {
				return nil, err
			}
			lists = append(lists, list)
			if rows < 0 || longest == (len(list) > rows) {
				rows = len(list)
			}
		}
		lacking, err := a.or(len(a.nodes), "default", nil)
		if err != nil {
			return nil, err
		}
		made := []any{}
		for n := range max(0, rows) {
			row := make([]any, len(lists))
			for i, list := range lists {
				if row[i] = lacking; n < len(list) {
					row[i] = list[n]
				}
			}
			made = append(made, row)
		}
		return a.m.list(made)
	}
}

func enumerate(a *arguments, list []any) (any, error) {
	start, err := a.int(1, "start", 0)
	if err != nil {
		return nil, err
	}
	made := make([]any, len(list))
	for i, item := range list {
		made[i] = []any{value.Int(start + i), item}
	}
	return a.m.list(made)
}

// rangeOf counts: to a stop, or from a start to a stop in steps.
func rangeOf(a *arguments) (any, error) {
	if err := a.count(1, 3); err != nil {
		return nil, err
	}
	start, stop, step := 0, 0, 1
	var err error
	if len(a.nodes) == 1 {
		stop, err = a.int(0, "", 0)
	} else {
		if start, err = a.int(0, "", 0); err == nil {
			stop, err = a.int(1, "", 0)
		}
		if err == nil {
			step, err = a.int(2, "", 1)
		}
	}
	if err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, value.Errorf("ValueError", "range() arg 3 must not be zero")
	}
	return sequence(func(yield func(any, error) bool) {
		for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
			if !yield(value.Int(i), nil) {
				return
			}
		}
	}), nil
}

func defaultIfEmpty(a *arguments, list []any) (any, error) {
	if len(list) > 0 {
		return list, nil
	}
	return a.value(1)
}

// slice cuts a collection into lists of n.
func slice(a *arguments, list []any) (any, error) {
	n, err := a.int(1, "length", 0)
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, mismatch{}
	}
	made := []any{}
	for chunk := range slices.Chunk(list, n) {
		made = append(made, chunk)
	}
	return a.m.list(made)
}
