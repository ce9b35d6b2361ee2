package policy

// The policy language: from the text of a rule to a check.
//
//	rule  = "" | or                       the empty rule allows
//	or    = and { "or" and }
//	and   = unary { "and" unary }
//	unary = "not" unary | "(" or ")" | check
//	check = "@" | "!" | kind ":" match

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// maxDepth bounds how deep a rule nests.
const maxDepth = 200

// parse reads a rule as it stands in YAML: a text, or the old form, a list
// (any of) of lists (all of) of checks.
func parse(rule any) (check, error) {
	switch r := rule.(type) {
	case string:
		return parseText(r)
	case []any:
		return parseList(r)
	case nil:
		return nil, errors.New(`the rule is empty; write "@" to allow everybody or "!" to allow nobody`)
	default:
		return nil, fmt.Errorf("a rule is a text or a list, not %v", rule)
	}
}

func parseText(rule string) (check, error) {
	if rule == "" {
		return always(true), nil
	}
	p := &parser{tokens: tokenize(rule)}
	c, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if token := p.next(); token != "" {
		return nil, fmt.Errorf("unexpected %q", token)
	}
	return c, nil
}

// tokenize cuts at white space and takes parentheses off both ends of a word;
// those inside it, as in %(name)s, are its own.
func tokenize(rule string) []string {
	var tokens []string
	for _, word := range strings.Fields(rule) {
		inner := strings.TrimLeft(word, "(")
		for range len(word) - len(inner) {
			tokens = append(tokens, "(")
		}
		bare := strings.TrimRight(inner, ")")
		if bare != "" {
			tokens = append(tokens, bare)
		}
		for range len(inner) - len(bare) {
			tokens = append(tokens, ")")
		}
	}
	return tokens
}

type parser struct{ tokens []string }

// next takes a token; "" at the end.
func (p *parser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

// accept takes the token if it is the word.
func (p *parser) accept(word string) bool {
	if len(p.tokens) == 0 || !strings.EqualFold(p.tokens[0], word) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

func (p *parser) or(depth int) (check, error) {
	parts, err := p.joined("or", depth, p.and)
	if len(parts) == 1 {
		return parts[0], err
	}
	return some(parts), err
}

func (p *parser) and(depth int) (check, error) {
	parts, err := p.joined("and", depth, p.unary)
	if len(parts) == 1 {
		return parts[0], err
	}
	return all(parts), err
}

func (p *parser) joined(word string, depth int, part func(int) (check, error)) ([]check, error) {
	var parts []check
	for {
		c, err := part(depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
		if !p.accept(word) {
			return parts, nil
		}
	}
}

func (p *parser) unary(depth int) (check, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	switch {
	case p.accept("not"):
		of, err := p.unary(depth + 1)
		return not{of}, err
	case p.accept("("):
		of, err := p.or(depth + 1)
		if err == nil && !p.accept(")") {
			err = errors.New("a parenthesis isn't closed")
		}
		return of, err
	}
	switch token := p.next(); strings.ToLower(token) {
	case "":
		return nil, errors.New("it ends where a check should stand")
	case ")", "and", "or":
		return nil, fmt.Errorf("%q stands where a check should", token)
	default:
		return parseCheck(token)
	}
}

func parseList(rule []any) (check, error) {
	if len(rule) == 0 {
		return always(true), nil
	}
	var anyOf some
	for _, entry := range rule {
		if alone, ok := entry.(string); ok && alone != "" {
			entry = []any{alone}
		}
		inner, ok := entry.([]any)
		if !ok && entry != "" {
			return nil, fmt.Errorf("%v stands where a list of checks should", entry)
		}
		if len(inner) == 0 {
			continue
		}
		var allOf all
		for _, one := range inner {
			word, ok := one.(string)
			if !ok {
				return nil, fmt.Errorf("%v stands where a check should", one)
			}
			c, err := parseCheck(word)
			if err != nil {
				return nil, err
			}
			allOf = append(allOf, c)
		}
		anyOf = append(anyOf, allOf)
	}
	return anyOf, nil
}

// parseCheck reads one check.
func parseCheck(word string) (check, error) {
	switch word {
	case "@":
		return always(true), nil
	case "!":
		return always(false), nil
	}
	kind, match, ok := cutKind(word)
	if !ok {
		return nil, fmt.Errorf(`%q is no check: "<kind>:<match>", "@" or "!"`, word)
	}
	switch kind {
	case "rule":
		return &reference{name: match}, nil
	case "http", "https":
		return nil, fmt.Errorf("%q: rules that ask a remote server aren't supported", word)
	}
	want, err := parseTemplate(match)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", word, err)
	}
	switch kind {
	case "role":
		if name, fixed := want.constant(); fixed {
			return hasRole(strings.ToLower(name)), nil
		}
		return roleFrom(want), nil
	case "is_admin":
		return parseIsAdmin(want), nil
	}
	return parseComparison(kind, want)
}

// cutKind cuts at the first colon. oslo.policy does so too: a quoted literal
// with a colon in it can't be written.
func cutKind(word string) (kind, match string, ok bool) {
	kind, match, ok = strings.Cut(word, ":")
	return kind, match, ok && kind != ""
}

// parseIsAdmin reads what follows "is_admin:". Nova takes any other text than
// true for false; here it fits nobody, so that Keystone's is_admin:1 opens
// nothing.
func parseIsAdmin(want template) check {
	switch value, _ := want.constant(); strings.ToLower(value) {
	case "true":
		return isAdmin(true)
	case "false":
		return isAdmin(false)
	default:
		return always(false)
	}
}

var (
	number = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	name   = regexp.MustCompile(`^[A-Za-z_][\w.\-]*$`)
)

// parseComparison reads a check whose left side is a literal or an attribute
// of the credentials.
func parseComparison(kind string, want template) (check, error) {
	if quote := kind[0]; quote == '\'' || quote == '"' {
		value := kind[1:]
		if !strings.HasSuffix(value, string(quote)) || strings.ContainsAny(value[:len(value)-1], `\'"`) {
			return nil, fmt.Errorf("%s is no quoted text", kind)
		}
		return literal{value[:len(value)-1], want}, nil
	}
	if kind == "True" || kind == "False" || kind == none || number.MatchString(kind) {
		return literal{kind, want}, nil
	}
	if of, ok := attributes[kind]; ok {
		return attribute{of, want}, nil
	}
	if of, ok := lists[kind]; ok {
		return oneOf{of, want}, nil
	}
	if !name.MatchString(kind) {
		return nil, fmt.Errorf("%q names no attribute", kind)
	}
	return nested{strings.Split(kind, "."), want}, nil
}
