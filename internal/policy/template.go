package policy

// The right side of a check: text with places for the target's attributes.

import (
	"fmt"
	"strings"
)

// template is a text such as "%(project_id)s" or "network:%(owner)s:x", cut at
// its places. The parts alternate: text, key, text, key, ..., text.
type template []string

// parseTemplate reads Python's %-formatting as far as policies use it: %(key)s
// and %%.
func parseTemplate(s string) (template, error) {
	t := template{""}
	for {
		before, after, found := strings.Cut(s, "%")
		t[len(t)-1] += before
		if !found {
			return t, nil
		}
		if rest, ok := strings.CutPrefix(after, "%"); ok {
			t[len(t)-1] += "%"
			s = rest
			continue
		}
		key, rest, closed := strings.Cut(after, ")s")
		if !strings.HasPrefix(key, "(") || !closed {
			return nil, fmt.Errorf("%q is no %%(attribute)s", "%"+after)
		}
		t = append(t, key[1:], "")
		s = rest
	}
}

// constant gives the text of a template without places.
func (t template) constant() (string, bool) { return t[0], len(t) == 1 }

// expand fills the places; false if the target lacks an attribute.
func (t template) expand(target map[string]any) (string, bool) {
	if len(t) == 3 && t[0] == "" && t[2] == "" {
		value, ok := target[t[1]]
		if !ok {
			return "", false
		}
		return text(value)
	}
	var b strings.Builder
	for i, part := range t {
		if i%2 == 1 {
			value, ok := target[part]
			if !ok {
				return "", false
			}
			if part, ok = text(value); !ok {
				return "", false
			}
		}
		b.WriteString(part)
	}
	return b.String(), true
}
