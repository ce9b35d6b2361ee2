package yaql

// Functions that choose, and that name values.

import (
	"holdfast.dev/internal/hot/value"
)

func logicFunctions() map[string]builtin {
	return map[string]builtin{
		"let":      let,
		"with":     let,
		"switch":   switchOf,
		"coalesce": coalesce,
		"isList":   func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.([]any); return ok, err },
		"isDict":   func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(*value.Map); return ok, err },
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
		if value.Truth(holds) {
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
