package yaql

// Functions that order a collection.

import (
	"slices"
	"sort"
)

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
			key, err := a.made(1, item)
			if err != nil {
				return nil, err
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
