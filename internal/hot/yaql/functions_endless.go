package yaql

// Functions that make collections of nothing, which may have no end: what reads them
// bounds how much there is of them.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
)

func endlessFunctions() map[string]builtin {
	return map[string]builtin{
		"sequence":     counting,
		"repeat":       repeated,
		"cycle":        ofList(cycle),
		"generate":     generate,
		"generateMany": generateMany,
	}
}

// next gives an element, or says that there is no more.
type next func() (item any, more bool, err error)

// endless gives what a next gives, which is begun each time that it is read.
func endless(begin func() next) sequence {
	return func(yield func(any, error) bool) {
		for next := begin(); ; {
			item, more, err := next()
			if err == nil && !more || !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// counting counts from a start on.
func counting(a *arguments) (any, error) {
	n, err := a.int(0, "start", 0)
	if err != nil {
		return nil, err
	}
	step, err := a.int(1, "step", 1)
	if err != nil {
		return nil, err
	}
	return endless(func() next {
		n := n - step
		return func() (any, bool, error) {
			n += step
			return value.Int(n), true, nil
		}
	}), nil
}

// repeated is a value so many times, or without end.
func repeated(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	times, err := a.int(1, "times", -1)
	if err != nil {
		return nil, err
	}
	return endless(func() next {
		left := times
		return func() (any, bool, error) {
			left--
			return v, left != -1, nil
		}
	}), nil
}

// cycle begins anew after the last element.
func cycle(_ *arguments, list []any) (any, error) {
	return endless(func() next {
		i := -1
		return func() (any, bool, error) {
			if len(list) == 0 {
				return nil, false, nil
			}
			i = (i + 1) % len(list)
			return list[i], true, nil
		}
	}), nil
}

// generation is what generate and generateMany have in common: what they begin with,
// what makes the next, and what is shown of each.
type generation struct {
	*arguments
	initial  any
	producer lambda
	selector lambda
	selects  bool
	// decycle says that nothing comes twice.
	decycle bool
	past    []any
}

// generation reads the arguments: the producer's place, and those after it.
func (a *arguments) generation(producer int) (g generation, err error) {
	g.arguments = a
	if g.initial, err = a.value(0); err != nil {
		return g, err
	}
	if g.producer, err = a.lambda(producer); err != nil {
		return g, err
	}
	if g.selector, g.selects, err = a.lambdaOr(producer+1, "selector"); err != nil {
		return g, err
	}
	decycle, err := a.or(producer+2, "decycle", false)
	g.decycle = truth(decycle)
	return g, err
}

// again says whether an item came before, if that matters.
func (g *generation) again(item any) (bool, error) {
	if !g.decycle {
		return false, nil
	}
	if g.m.has(g.past, item) {
		return true, nil
	}
	g.past = append(g.past, item)
	_, err := g.m.list(g.past)
	return false, err
}

// shown is what is seen of an item.
func (g *generation) shown(item any) (any, error) {
	if !g.selects {
		return item, nil
	}
	return g.m.apply(g.selector, item)
}

// generate makes each element of the one before, as long as a condition holds.
func generate(a *arguments) (any, error) {
	predicate, err := a.lambda(1)
	if err != nil {
		return nil, err
	}
	g, err := a.generation(2)
	if err != nil {
		return nil, err
	}
	return endless(func() next {
		g, item, first := g, g.initial, true
		return func() (_ any, more bool, err error) {
			if !first {
				if item, err = g.m.apply(g.producer, item); err != nil {
					return nil, false, err
				}
			}
			first = false
			holds, err := g.m.apply(predicate, item)
			if err != nil || !truth(holds) {
				return nil, false, err
			}
			if again, err := g.again(item); err != nil || again {
				return nil, false, err
			}
			v, err := g.shown(item)
			return v, true, err
		}
	}), nil
}

// generateMany makes several elements of each, broad or deep first.
func generateMany(a *arguments) (any, error) {
	g, err := a.generation(1)
	if err != nil {
		return nil, err
	}
	deep, err := a.or(4, "depthFirst", false)
	if err != nil {
		return nil, err
	}
	return endless(func() next {
		g, queue := g, []any{g.initial}
		return func() (any, bool, error) {
			item, more, err := g.from(&queue)
			if err != nil || !more {
				return nil, false, err
			}
			v, err := g.shown(item)
			if err != nil {
				return nil, false, err
			}
			produced, err := g.m.apply(g.producer, item)
			if err != nil {
				return nil, false, err
			}
			made, err := g.m.collect(produced)
			if err != nil {
				return nil, false, err
			}
			if truth(deep) {
				queue = append(slices.Clone(made), queue...)
			} else {
				queue = append(queue, made...)
			}
			_, err = g.m.list(queue)
			return v, true, err
		}
	}), nil
}

// from takes the first item of a queue that didn't come before, if that matters.
func (g *generation) from(queue *[]any) (item any, more bool, err error) {
	for len(*queue) > 0 {
		item, *queue = (*queue)[0], (*queue)[1:]
		if again, err := g.again(item); err != nil || !again {
			return item, true, err
		}
	}
	return nil, false, nil
}
