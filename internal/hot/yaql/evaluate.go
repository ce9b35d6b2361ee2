package yaql

// Working an expression out.

import (
	"iter"
	"math/big"

	"holdfast.dev/internal/hot/value"
)

// Limits bound an evaluation. What is 0 has its default.
type Limits struct {
	// Steps is how many parts of the expression are worked out, each time they
	// are: 100,000.
	Steps int
	// Elements is how many elements a collection may give: 200, as in the
	// original.
	Elements int
	// Memory is how many bytes a value may take: 10,000, as in the original.
	Memory int
}

// Evaluate works the expression out for a value of $, and says how many steps
// it took.
func (e *Expression) Evaluate(root any, limits Limits) (result any, steps int, err error) {
	for _, limit := range []struct {
		of        *int
		otherwise int
	}{{&limits.Steps, 100_000}, {&limits.Elements, 200}, {&limits.Memory, 10_000}} {
		if *limit.of == 0 {
			*limit.of = limit.otherwise
		}
	}
	m := &machine{limits: limits}
	v, err := m.eval(e.root, &scope{names: map[string]any{"$": root, "$1": root}})
	if err != nil {
		return nil, m.steps, err
	}
	v, err = m.plain(v)
	return v, m.steps, err
}

// machine is one evaluation.
type machine struct {
	limits Limits
	steps  int
}

// scope is the variables of a place in the expression.
type scope struct {
	names map[string]any
	outer *scope
}

func (s *scope) get(name string) any {
	for ; s != nil; s = s.outer {
		if v, there := s.names[name]; there {
			return v
		}
	}
	return nil
}

// sequence is a collection that is made as it is read.
type sequence iter.Seq2[any, error]

// ordered is a sequence that can be ordered further by thenBy.
type ordered struct {
	items []any
	keys  [][]any
	down  []bool
}

// lambda is an argument that is worked out for each element.
type lambda struct {
	body  *node
	scope *scope
}

func (m *machine) step() error {
	if m.steps++; m.steps > m.limits.Steps {
		return value.Errorf("ValueError", "The expression takes more than %d steps", m.limits.Steps)
	}
	return nil
}

// fits checks that a value of a number of bytes may be made.
func (m *machine) fits(size int) error {
	if size > m.limits.Memory {
		return value.Errorf("MemoryQuotaExceededException", "Expression consumed too much memory")
	}
	return nil
}

// The bytes that the original counts for a text and a list.
const (
	textSize = 49
	listSize = 56
	itemSize = 8
)

func (m *machine) text(s string) (any, error) { return s, m.fits(textSize + len(s)) }
func (m *machine) list(l []any) (any, error)  { return l, m.fits(listSize + itemSize*len(l)) }

// whole checks an integer, which takes four bytes for each 30 bits.
func (m *machine) whole(n *big.Int) (any, error) { return n, m.fits(28 + n.BitLen()/30*4) }

// plain is a value without sequences in it.
func (m *machine) plain(v any) (any, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case sequence, ordered, unordered:
		list, err := m.collect(x)
		if err != nil {
			return nil, err
		}
		return m.plain(list)
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			p, err := m.plain(item)
			if err != nil {
				return nil, err
			}
			list[i] = p
		}
		return list, nil
	case *value.Map:
		made := &value.Map{}
		for i := range x.Len() {
			key, item := x.At(i)
			p, err := m.plain(item)
			if err != nil {
				return nil, err
			}
			made.Set(key, p)
		}
		return made, nil
	case expression:
		return nil, value.Errorf("TypeError", "a regular expression is not a value")
	case *scope:
		return nil, nil
	}
	return v, nil
}

// each gives the elements of any collection, no more than the limit.
func (m *machine) each(v any) (sequence, bool) {
	var from sequence
	switch x := v.(type) {
	case sequence:
		from = x
	case ordered:
		from = elements(x.sorted())
	case unordered:
		from = elements(x)
	case []any:
		from = elements(x)
	case *value.Map:
		from = elements(x.Keys())
	default:
		return nil, false
	}
	return func(yield func(any, error) bool) {
		n := 0
		for item, err := range from {
			if err == nil {
				err = m.step()
			}
			if n++; err == nil && n > m.limits.Elements {
				err = value.Errorf("CollectionTooLargeException", "Collection length exceeds %d elements", m.limits.Elements)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}, true
}

func elements(list []any) sequence {
	return func(yield func(any, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// collect is a collection as a list.
func (m *machine) collect(v any) ([]any, error) {
	if list, ok := v.([]any); ok {
		return list, nil
	}
	items, ok := m.each(v)
	if !ok {
		return nil, value.Errorf("TypeError", "'%s' object is not iterable", value.TypeName(v))
	}
	list := []any{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := m.list(list)
	return list, err
}

func (m *machine) eval(n *node, s *scope) (any, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	switch n.op {
	case "literal":
		return n.value, nil
	case "variable":
		return s.get(n.name), nil
	case "list":
		list := make([]any, len(n.args))
		for i, arg := range n.args {
			v, err := m.eval(arg, s)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return m.list(list)
	case "map":
		return m.mapping(n, s)
	case "call":
		return m.call(n, nil, false, s)
	case ".", "?.":
		return m.dot(n, s)
	case "and", "or":
		left, err := m.eval(n.args[0], s)
		if err != nil || truth(left) == (n.op == "or") {
			return left, err
		}
		return m.eval(n.args[1], s)
	case "->":
		left, err := m.eval(n.args[0], s)
		if err != nil {
			return nil, err
		}
		inner, ok := left.(*scope)
		if !ok {
			return nil, noFunction("#operator_->")
		}
		return m.eval(n.args[1], inner)
	}
	operands := make([]any, len(n.args))
	for i, arg := range n.args {
		v, err := m.eval(arg, s)
		if err != nil {
			return nil, err
		}
		operands[i] = v
	}
	return m.operate(n.op, operands)
}

func (m *machine) mapping(n *node, s *scope) (any, error) {
	made := &value.Map{}
	for i, key := range n.keys {
		k, err := m.eval(key, s)
		if err != nil {
			return nil, err
		}
		v, err := m.eval(n.args[i], s)
		if err != nil {
			return nil, err
		}
		if !value.Hashable(k) {
			return nil, value.Errorf("TypeError", "unhashable type: '%s'", value.TypeName(k))
		}
		made.Set(k, v)
	}
	return made, nil
}

// dot is an attribute or a method of what is left of the dot.
func (m *machine) dot(n *node, s *scope) (any, error) {
	receiver, err := m.eval(n.args[0], s)
	if err != nil || receiver == nil && n.op == "?." {
		return nil, err
	}
	right := n.args[1]
	switch {
	case right.op == "call":
		return m.call(right, receiver, true, s)
	case right.word:
		return m.attribute(receiver, right.value)
	}
	return nil, noFunction("#operator_.")
}

// attribute is a map's value, or those of each map of a collection.
func (m *machine) attribute(receiver, name any) (any, error) {
	if d, ok := receiver.(*value.Map); ok {
		if v, there := d.Get(name); there {
			return v, nil
		}
		return nil, value.Errorf("KeyError", "%s", value.Repr(name))
	}
	items, ok := m.each(receiver)
	if !ok {
		return nil, noFunction("#property#" + value.Str(name))
	}
	return sequence(func(yield func(any, error) bool) {
		for item, err := range items {
			if err == nil {
				item, err = m.attribute(item, name)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}), nil
}

func noFunction(name string) error {
	return value.Errorf("NoMatchingFunctionException", `No function "%s" matches supplied arguments`, name)
}

// apply works a lambda out for arguments: $ and $1 are the first, $2 the second.
func (m *machine) apply(f lambda, args ...any) (any, error) {
	s := &scope{names: map[string]any{}, outer: f.scope}
	for i, arg := range args {
		if i == 0 {
			s.names["$"] = arg
		}
		s.names["$"+value.Str(value.Int(i+1))] = arg
	}
	return m.eval(f.body, s)
}
