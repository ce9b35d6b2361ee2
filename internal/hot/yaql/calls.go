package yaql

// Calls of functions and methods: a method's receiver is its first argument.

import (
	"math/big"

	"holdfast.dev/internal/hot/value"
)

// builtin is a function of the language. What it can't do with its arguments is
// the error mismatch.
type builtin func(a *arguments) (any, error)

// builtins are the functions by name. They are filled in by init, since
// functions call functions.
var builtins map[string]builtin

func init() {
	builtins = map[string]builtin{}
	for _, group := range []map[string]builtin{textFunctions(), numberFunctions(), collectionFunctions(), mapFunctions(), setFunctions(), endlessFunctions(), logicFunctions()} {
		for name, f := range group {
			builtins[name] = f
		}
	}
}

// mismatch says that a function doesn't take such arguments.
type mismatch struct{}

func (mismatch) Error() string { return "no match" }

// arguments are the arguments of a call, worked out as they are asked for.
type arguments struct {
	m     *machine
	nodes []*node
	named map[string]*node
	scope *scope
	ready map[int]any
}

func (m *machine) call(n *node, receiver any, method bool, s *scope) (any, error) {
	f, known := builtins[n.name]
	if !known {
		if method {
			return nil, value.Errorf("NoMethodRegisteredException", `Unknown method "%s" for receiver %s`, n.name, value.Short(receiver, 100))
		}
		return nil, value.Errorf("NoFunctionRegisteredException", `Unknown function "%s"`, n.name)
	}
	a := &arguments{m: m, scope: s, named: map[string]*node{}, ready: map[int]any{}}
	if method {
		a.nodes = append(a.nodes, nil)
		a.ready[0] = receiver
	}
	positional := len(n.args) - len(n.keys)
	a.nodes = append(a.nodes, n.args[:positional]...)
	pairs := n.name == "dict" || n.name == "switch"
	for i, key := range n.keys {
		name, ok := key.value.(string)
		if !key.word && !pairs || key.word && !ok {
			return nil, value.Errorf("MappingTranslationException", "Cannot convert mapping to keyword argument")
		}
		if pairs {
			a.nodes = append(a.nodes, key, n.args[positional+i])
			continue
		}
		a.named[name] = n.args[positional+i]
	}
	v, err := f(a)
	if _, no := err.(mismatch); no {
		if method {
			return nil, value.Errorf("NoMatchingMethodException", `No method "%s" for receiver %s matches supplied arguments`, n.name,
				value.Short(shown(receiver), 100))
		}
		return nil, noFunction(n.name)
	}
	return v, err
}

// shown is a value that can be printed.
func shown(v any) any {
	switch v.(type) {
	case sequence, ordered, unordered, lambda, expression, *scope:
		return "<collection>"
	}
	return v
}

// count says whether there are from low to high arguments.
func (a *arguments) count(low, high int) error {
	if len(a.nodes) < low || high >= 0 && len(a.nodes) > high {
		return mismatch{}
	}
	return nil
}

// has says whether there is an argument at a place.
func (a *arguments) has(i int) bool { return i < len(a.nodes) }

// value is the argument at a place.
func (a *arguments) value(i int) (any, error) {
	if !a.has(i) {
		return nil, mismatch{}
	}
	if v, there := a.ready[i]; there {
		return v, nil
	}
	v, err := a.m.eval(a.nodes[i], a.scope)
	a.ready[i] = v
	return v, err
}

// or is the argument at a place, or of a name, or what it is otherwise.
func (a *arguments) or(i int, name string, otherwise any) (any, error) {
	if a.has(i) {
		return a.value(i)
	}
	if n, there := a.named[name]; there {
		return a.m.eval(n, a.scope)
	}
	return otherwise, nil
}

// method says whether it is called as a method.
func (a *arguments) method() bool { return len(a.nodes) > 0 && a.nodes[0] == nil }

// lambdaOr is the lambda at a place, or of a name, if there is one.
func (a *arguments) lambdaOr(i int, name string) (f lambda, given bool, err error) {
	if n := a.named[name]; n != nil && !a.has(i) {
		return lambda{n, a.scope}, true, nil
	}
	if !a.has(i) {
		return lambda{}, false, nil
	}
	f, err = a.lambda(i)
	return f, true, err
}

// lambda is the argument at a place as something to be worked out later.
func (a *arguments) lambda(i int) (lambda, error) {
	if !a.has(i) || a.nodes[i] == nil {
		return lambda{}, mismatch{}
	}
	return lambda{a.nodes[i], a.scope}, nil
}

// text is the argument at a place, which must be a text.
func (a *arguments) text(i int) (string, error) {
	v, err := a.value(i)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", mismatch{}
	}
	return text, nil
}

// int is an argument that must be an integer of a sane size.
func (a *arguments) int(i int, name string, otherwise int) (int, error) {
	v, err := a.or(i, name, value.Int(otherwise))
	if err != nil {
		return 0, err
	}
	n, ok := v.(*big.Int)
	if !ok {
		return 0, mismatch{}
	}
	const far = 1 << 30
	switch {
	case n.IsInt64() && n.Int64() > -far && n.Int64() < far:
		return int(n.Int64()), nil
	case n.Sign() < 0:
		return -far, nil
	}
	return far, nil
}

// collection is the argument at a place, which must be a collection.
func (a *arguments) collection(i int) (sequence, error) {
	v, err := a.value(i)
	if err != nil {
		return nil, err
	}
	if _, isMap := v.(*value.Map); isMap {
		return nil, mismatch{}
	}
	items, ok := a.m.each(v)
	if !ok {
		return nil, mismatch{}
	}
	return items, nil
}

// items is the argument at a place as a list.
func (a *arguments) items(i int) ([]any, error) {
	items, err := a.collection(i)
	if err != nil {
		return nil, err
	}
	return a.m.collect(items)
}

// dict is the argument at a place, which must be a map.
func (a *arguments) dict(i int) (*value.Map, error) {
	v, err := a.value(i)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*value.Map)
	if !ok {
		return nil, mismatch{}
	}
	return d, nil
}

// each gives f each element of the argument at a place, until it wants no more.
func (a *arguments) each(i int, f func(item any) (more bool, err error)) error {
	items, err := a.collection(i)
	if err != nil {
		return err
	}
	for item, err := range items {
		if err != nil {
			return err
		}
		if more, err := f(item); err != nil || !more {
			return err
		}
	}
	return nil
}

// ofList is a function whose first argument is a list.
func ofList(f func(a *arguments, list []any) (any, error)) builtin {
	return func(a *arguments) (any, error) {
		list, err := a.items(0)
		if err != nil {
			return nil, err
		}
		return f(a, list)
	}
}

// ofMap is a function whose first argument is a map.
func ofMap(f func(a *arguments, d *value.Map) (any, error)) builtin {
	return func(a *arguments) (any, error) {
		d, err := a.dict(0)
		if err != nil {
			return nil, err
		}
		return f(a, d)
	}
}

// given says whether there is an argument at a place, or of a name.
func (a *arguments) given(i int, name string) bool { return a.has(i) || a.named[name] != nil }

// applied is the lambda at a place worked out for arguments.
func (a *arguments) applied(i int, args ...any) (any, error) {
	f, err := a.lambda(i)
	if err != nil {
		return nil, err
	}
	return a.m.apply(f, args...)
}

// made is what the lambda at a place makes of an element; without one, itself.
func (a *arguments) made(i int, item any) (any, error) {
	if !a.has(i) {
		return item, nil
	}
	return a.applied(i, item)
}
