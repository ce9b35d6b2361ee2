package yaql

// Functions of collections.

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/hot/value"
)

func collectionFunctions() map[string]builtin {
	return map[string]builtin{
		"list":              list,
		"toList":            func(a *arguments) (any, error) { l, err := a.items(0); return l, err },
		"toSet":             distinct,
		"len":               length,
		"count":             count,
		"sum":               sum,
		"select":            through(func(a *arguments, item any) ([]any, error) { v, err := a.applied(1, item); return []any{v}, err }),
		"where":             through(where),
		"filter":            through(where),
		"selectMany":        through(selectMany),
		"flatten":           flatten,
		"distinct":          distinct,
		"first":             first,
		"last":              last,
		"single":            single,
		"any":               anyOf,
		"all":               allOf,
		"contains":          func(a *arguments) (any, error) { return swapped(a) },
		"reverse":           reverse,
		"orderBy":           orderBy(false, false),
		"orderByDescending": orderBy(true, false),
		"thenBy":            orderBy(false, true),
		"thenByDescending":  orderBy(true, true),
		"zip":               zip,
		"enumerate":         enumerate,
		"range":             rangeOf,
		"skip":              part(false),
		"limit":             part(true),
		"take":              part(true),
		"takeWhile":         while(true),
		"skipWhile":         while(false),
		"aggregate":         aggregate,
		"append":            appended,
		"insert":            insert,
		"delete":            deleted,
		"indexOf":           indexOf,
		"indexWhere":        indexWhere,
		"defaultIfEmpty":    defaultIfEmpty,
		"slice":             slice,
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

func where(a *arguments, item any) ([]any, error) {
	holds, err := a.applied(1, item)
	if err != nil || !value.Truth(holds) {
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
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	total, err := a.or(1, "initial", nil)
	if err != nil {
		return nil, err
	}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if total == nil {
			total = item
			continue
		}
		if total, err = a.m.arithmetic("+", total, item); err != nil {
			return nil, err
		}
	}
	if total == nil {
		return nil, value.Errorf("TypeError", "reduce() of empty iterable with no initial value")
	}
	return total, nil
}

func flatten(a *arguments) (any, error) {
	items, err := a.items(0)
	if err != nil {
		return nil, err
	}
	return a.m.flat(nil, items)
}

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
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	made, keys := []any{}, []any{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		key := item
		if a.has(1) {
			if key, err = a.applied(1, item); err != nil {
				return nil, err
			}
		}
		if !value.In(key, keys) {
			made, keys = append(made, item), append(keys, key)
		}
	}
	return made, nil
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
	if a.has(1) || a.named["default"] != nil {
		return a.or(1, "default", nil)
	}
	return nil, empty()
}

func last(a *arguments) (any, error) {
	list, err := a.items(0)
	switch {
	case err != nil:
		return nil, err
	case len(list) > 0:
		return list[len(list)-1], nil
	case a.has(1) || a.named["default"] != nil:
		return a.or(1, "default", nil)
	}
	return nil, empty()
}

func single(a *arguments) (any, error) {
	list, err := a.items(0)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, empty()
	case len(list) > 1:
		return nil, value.Errorf("StopIteration", "Collection contains more than one item")
	}
	return list[0], nil
}

func anyOf(a *arguments) (any, error) {
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	for item, err := range items {
		if err != nil || !a.has(1) {
			return err == nil, err
		}
		holds, err := a.applied(1, item)
		if err != nil || value.Truth(holds) {
			return err == nil, err
		}
	}
	return false, nil
}

func allOf(a *arguments) (any, error) {
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		holds := item
		if a.has(1) {
			if holds, err = a.applied(1, item); err != nil {
				return nil, err
			}
		}
		if !value.Truth(holds) {
			return false, nil
		}
	}
	return true, nil
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

func reverse(a *arguments) (any, error) {
	list, err := a.items(0)
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, err
}

// orderBy orders by a key; further orders what is ordered already by one more.
func orderBy(down, further bool) builtin {
	return func(a *arguments) (any, error) {
		v, err := a.value(0)
		if err != nil {
			return nil, err
		}
		was, isOrdered := v.(ordered)
		if further && !isOrdered {
			return nil, mismatch{}
		}
		now := ordered{down: []bool{down}}
		if further {
			now = ordered{items: was.items, keys: was.keys, down: append(slices.Clone(was.down), down)}
		} else if now.items, err = a.items(0); err != nil {
			return nil, err
		}
		keys := make([][]any, len(now.items))
		for i, item := range now.items {
			key := item
			if a.has(1) {
				if key, err = a.applied(1, item); err != nil {
					return nil, err
				}
			}
			if further {
				keys[i] = append(slices.Clone(now.keys[i]), key)
			} else {
				keys[i] = []any{key}
			}
			if _, ok := compare(keys[0][len(keys[0])-1], key); !ok {
				return nil, noFunction("#operator_<")
			}
		}
		now.keys = keys
		return now, nil
	}
}

func (o ordered) sorted() []any {
	places := make([]int, len(o.items))
	for i := range places {
		places[i] = i
	}
	sort.SliceStable(places, func(i, j int) bool {
		for n, down := range o.down {
			order, _ := compare(o.keys[places[i]][n], o.keys[places[j]][n])
			if order != 0 {
				return (order < 0) != down
			}
		}
		return false
	})
	list := make([]any, len(places))
	for i, place := range places {
		list[i] = o.items[place]
	}
	return list
}

func zip(a *arguments) (any, error) {
	var lists [][]any
	shortest := -1
	for i := range a.nodes {
		list, err := a.items(i)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
		if shortest < 0 || len(list) < shortest {
			shortest = len(list)
		}
	}
	made := []any{}
	for n := range max(0, shortest) {
		row := make([]any, len(lists))
		for i, list := range lists {
			row[i] = list[n]
		}
		made = append(made, row)
	}
	return a.m.list(made)
}

func enumerate(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
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
		items, err := a.collection(0)
		if err != nil {
			return nil, err
		}
		made, held := []any{}, true
		for item, err := range items {
			if err != nil {
				return nil, err
			}
			if held {
				holds, err := a.applied(1, item)
				if err != nil {
					return nil, err
				}
				held = value.Truth(holds)
			}
			if head && !held {
				break
			}
			if head == held {
				made = append(made, item)
			}
		}
		return made, nil
	}
}

func aggregate(a *arguments) (any, error) {
	items, err := a.collection(0)
	if err != nil {
		return nil, err
	}
	started := a.has(2) || a.named["seed"] != nil
	total, err := a.or(2, "seed", nil)
	if err != nil {
		return nil, err
	}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if !started {
			total, started = item, true
			continue
		}
		if total, err = a.applied(1, total, item); err != nil {
			return nil, err
		}
	}
	if !started {
		return nil, value.Errorf("TypeError", "reduce() of empty iterable with no initial value")
	}
	return total, nil
}

func appended(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
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

func insert(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
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
	return value.Int(slices.IndexFunc(list, func(item any) bool { return value.Equal(item, wanted) })), err
}

func indexWhere(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
	for i, item := range list {
		holds, err := a.applied(1, item)
		if err != nil {
			return nil, err
		}
		if value.Truth(holds) {
			return value.Int(i), nil
		}
	}
	return value.Int(-1), nil
}

func defaultIfEmpty(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil || len(list) > 0 {
		return list, err
	}
	return a.value(1)
}

// slice cuts a collection into lists of n.
func slice(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
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
