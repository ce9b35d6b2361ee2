package yaql

// Functions that choose, and that name values.

import (
	"holdfast.dev/internal/hot/value"
)

func logicFunctions() map[string]builtin {
	return map[string]builtin{
		"let":      let,
		"with":     let,
		"unpack":   unpack,
		"assert":   assert,
		"switch":   switchOf,
		"coalesce": coalesce,

		"selectCase":     selectCase,
		"selectAllCases": selectAllCases,
		"switchCase":     switchCase,
		"examine":        examine,

		"isList": func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.([]any); return ok, err },
		"isDict": func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(*value.Map); return ok, err },
		"isIterable": func(a *arguments) (any, error) {
			v, err := a.value(0)
			_, isMap := v.(*value.Map)
			_, ok := a.m.each(v)
			return ok && !isMap, err
		},
	}
}

// let names values for what comes after ->.
func let(a *arguments) (any, error) {
	s := &scope{names: map[string]any{}, outer: a.scope}
	for i := range a.nodes {
		v, err := a.value(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.names["$"] = v
		}
		s.names["$"+value.Str(value.Int(i+1))] = v
	}
	for name, n := range a.named {
		v, err := a.m.eval(n, a.scope)
		if err != nil {
			return nil, err
		}
		s.names["$"+name] = v
	}
	return s, nil
}

// unpack names the elements of a collection for what comes after ->: as its arguments
// say, or by their numbers.
func unpack(a *arguments) (any, error) {
	list, err := a.items(0)
	if err != nil {
		return nil, err
	}
	names := len(a.nodes) - 1
	if names > 0 && names != len(list) {
		return nil, value.Errorf("ValueError", "Cannot unpack %d elements into %d", min(len(list), names+1), names)
	}
	s := &scope{names: map[string]any{}, outer: a.scope}
	for i, item := range list {
		name := value.Str(value.Int(i + 1))
		if names > 0 {
			if name, err = a.text(i + 1); err != nil {
				return nil, err
			}
		}
		s.names["$"+name] = item
	}
	return s, nil
}

// assert is its receiver, if the condition holds of that.
func assert(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case sequence, ordered:
		if v, err = a.m.collect(v); err != nil {
			return nil, err
		}
	}
	holds, err := a.applied(1, v)
	if err != nil || truth(holds) {
		return v, err
	}
	text, err := a.or(2, "message", "Assertion failed")
	if err != nil {
		return nil, err
	}
	message, isText := text.(string)
	if !isText {
		return nil, mismatch{}
	}
	return nil, value.Errorf("AssertionError", "%s", message)
}

// cases says of the arguments, one after the other, whether they hold, until no more
// are wanted.
func (a *arguments) cases(f func(i int, holds bool) (more bool)) error {
	for i := range a.nodes {
		v, err := a.value(i)
		if err != nil || !f(i, truth(v)) {
			return err
		}
	}
	return nil
}

// selectCase is the number of the first case that holds, or how many there are.
func selectCase(a *arguments) (any, error) {
	first := len(a.nodes)
	err := a.cases(func(i int, holds bool) bool {
		if holds {
			first = i
		}
		return !holds
	})
	return value.Int(first), err
}

func selectAllCases(a *arguments) (any, error) {
	all := []any{}
	err := a.cases(func(i int, holds bool) bool {
		if holds {
			all = append(all, value.Int(i))
		}
		return true
	})
	return all, err
}

func examine(a *arguments) (any, error) {
	all := []any{}
	err := a.cases(func(_ int, holds bool) bool {
		all = append(all, holds)
		return true
	})
	return all, err
}

// switchCase is the argument of a number; one that there isn't is the last.
func switchCase(a *arguments) (any, error) {
	n, err := a.int(0, "case", 0)
	if err != nil || len(a.nodes) == 1 {
		return nil, err
	}
	last := len(a.nodes) - 2
	if n < 0 || n > last {
		n = last
	}
	return a.value(n + 1)
}

// switchOf is the value beside the first condition that holds. As a method, the
// conditions are about its receiver.
func switchOf(a *arguments) (any, error) {
	nodes := a.nodes
	s := a.scope
	if len(nodes) > 0 && nodes[0] == nil {
		s = &scope{names: map[string]any{"$": a.ready[0], "$1": a.ready[0]}, outer: s}
		nodes = nodes[1:]
	}
	if len(nodes)%2 != 0 {
		return nil, mismatch{}
	}
	for i := 0; i < len(nodes); i += 2 {
		holds, err := a.m.eval(nodes[i], s)
		if err != nil {
			return nil, err
		}
		if truth(holds) {
			return a.m.eval(nodes[i+1], s)
		}
	}
	return nil, nil
}

// coalesce is the first argument that isn't null.
func coalesce(a *arguments) (any, error) {
	for i := range a.nodes {
		v, err := a.value(i)
		if err != nil || v != nil {
			return v, err
		}
	}
	return nil, nil
}
