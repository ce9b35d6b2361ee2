package yaql

// Tokens into expressions.

import (
	"fmt"
	"strings"

	"holdfast.dev/internal/hot/value"
)

// node is a part of an expression.
type node struct {
	op string // "literal", "variable", "call", "list", "map", "index", or the operator
	// value is a literal's, name a variable's or a call's.
	value any
	name  string
	// word marks a literal that was written as a bare name.
	word bool
	// args are the operands or arguments; keys are the names of keyword
	// arguments, and the keys of maps.
	args []*node
	keys []*node
}

// Expression is a parsed expression.
type Expression struct{ root *node }

const (
	// maxText is how long an expression may be.
	maxText = 20_000
	// maxNesting is how deep an expression may nest.
	maxNesting = 100
)

// Parse parses an expression.
func Parse(text string) (*Expression, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("Parse error: the expression is longer than %d characters", maxText)
	}
	p := &parser{lexer: lexer{text: text}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token.kind == endOfText {
		return &Expression{&node{op: "literal"}}, nil
	}
	root, err := p.expression(0, 0)
	if err != nil {
		return nil, err
	}
	if p.token.kind != endOfText {
		return nil, p.unexpected()
	}
	return &Expression{root}, nil
}

type parser struct {
	lexer
	token token
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

func (p *parser) unexpected() error {
	if p.token.kind == endOfText {
		return fmt.Errorf("Parse error: unexpected end of statement")
	}
	text := p.token.text
	if p.token.kind == literal && !strings.HasPrefix(text, "'") {
		text = "'" + text + "'"
	} else if p.token.kind != literal {
		text = "'" + text + "'"
	}
	return fmt.Errorf("Parse error: unexpected %s at position %d of expression %s", text, p.token.at, value.Repr(p.text))
}

// is says whether the token is an operator.
func (p *parser) is(op string) bool { return p.token.kind == operator && p.token.text == op }

func (p *parser) expect(op string) error {
	if !p.is(op) {
		return p.unexpected()
	}
	return p.advance()
}

// binds is how tightly a binary operator binds; 0 is no binary operator.
var binds = map[string]int{"->": 1, "or": 2, "and": 3, ">": 5, "<": 5, ">=": 5, "<=": 5, "!=": 5, "=": 5, "in": 5, "+": 6, "-": 6, "*": 7,
	"/": 7, "mod": 7, "=~": 8, "!~": 8, "[": 10, "{": 10, ".": 11, "?.": 11}

// The unary operators' places in that order.
const (
	notBinds  = 4
	signBinds = 9
)

// expression reads operators that bind at least as tightly as least.
func (p *parser) expression(least, depth int) (*node, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("Parse error: the expression is nested deeper than %d", maxNesting)
	}
	left, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	for chain := 0; p.token.kind == operator; chain++ {
		op := p.token.text
		bind := binds[op]
		if bind == 0 || bind < least || op == "{" {
			break
		}
		if chain > maxNesting {
			return nil, fmt.Errorf("Parse error: the expression has more than %d operators in a row", maxNesting)
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if op == "[" {
			n := &node{op: "index", args: []*node{left}}
			if err := p.arguments(n, "]", depth); err != nil {
				return nil, err
			}
			left = n
			continue
		}
		next := bind + 1
		if op == "->" {
			next = bind
		}
		right, err := p.expression(next, depth+1)
		if err != nil {
			return nil, err
		}
		left = &node{op: op, args: []*node{left, right}}
	}
	return left, nil
}

func (p *parser) operand(depth int) (*node, error) {
	t := p.token
	switch {
	case t.kind == literal:
		return &node{op: "literal", value: t.value}, p.advance()
	case t.kind == word:
		return &node{op: "literal", value: t.text, word: true}, p.advance()
	case t.kind == variable:
		return &node{op: "variable", name: t.text}, p.advance()
	case t.kind == function:
		n := &node{op: "call", name: t.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
		return n, p.arguments(n, ")", depth)
	case p.is("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.expression(0, depth+1)
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	case p.is("["), p.is("{"):
		n, closing := &node{op: "list"}, "]"
		if t.text == "{" {
			n, closing = &node{op: "map"}, "}"
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.arguments(n, closing, depth); err != nil {
			return nil, err
		}
		if len(n.keys) != len(n.args) && n.op == "map" || len(n.keys) > 0 && n.op == "list" {
			return nil, fmt.Errorf("Parse error: a %s can't hold that at position %d of expression %s", n.op, t.at, value.Short(p.text, 200))
		}
		return n, nil
	case p.is("not"), p.is("-"), p.is("+"):
		bind := signBinds
		if t.text == "not" {
			bind = notBinds
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		inner, err := p.expression(bind, depth+1)
		return &node{op: "unary " + t.text, args: []*node{inner}}, err
	}
	return nil, p.unexpected()
}

// arguments reads a, b, key => c up to a closing bracket.
func (p *parser) arguments(n *node, closing string, depth int) error {
	for !p.is(closing) {
		arg, err := p.expression(0, depth+1)
		if err != nil {
			return err
		}
		if p.is("=>") {
			if err := p.advance(); err != nil {
				return err
			}
			// A keyword's value follows the positional ones in args, its key has
			// the same place in keys from the end.
			v, err := p.expression(0, depth+1)
			if err != nil {
				return err
			}
			n.keys, n.args = append(n.keys, arg), append(n.args, v)
		} else {
			if len(n.keys) > 0 {
				return p.unexpected()
			}
			n.args = append(n.args, arg)
		}
		if p.is(closing) {
			break
		}
		if err := p.expect(","); err != nil {
			return err
		}
		if p.is(closing) {
			return p.unexpected()
		}
	}
	return p.advance()
}
