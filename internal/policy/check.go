package policy

// The compiled forms of checks.

import (
	"slices"
	"strings"
)

// check is one node of a compiled rule.
type check interface {
	allows(c *Credentials, target map[string]any) bool
}

// always is "@" and "!".
type always bool

// not, all and some are "not", "and", "or".
type (
	not  struct{ of check }
	all  []check
	some []check
)

// reference is "rule:<name>". The rule is filled in when all are known; a name
// that no rule has allows nothing.
type reference struct {
	name string
	rule check
}

// hasRole is "role:<name>" with a fixed name, in lower case; roleFrom is one
// whose name comes from the target.
type (
	hasRole  string
	roleFrom template
)

// isAdmin is "is_admin:True" or "is_admin:False".
type isAdmin bool

// attribute is "<attribute>:<template>", one of many is the same for an
// attribute with several values, literal has a fixed left side ('x':%(y)s),
// nested reaches into the credentials' own further attributes.
type (
	attribute struct {
		of   func(*Credentials) string
		want template
	}
	oneOf struct {
		of   func(*Credentials) []string
		want template
	}
	literal struct {
		value string
		want  template
	}
	nested struct {
		path []string
		want template
	}
)

func (a always) allows(*Credentials, map[string]any) bool { return bool(a) }

func (n not) allows(c *Credentials, target map[string]any) bool { return !n.of.allows(c, target) }

func (a all) allows(c *Credentials, target map[string]any) bool {
	for _, of := range a {
		if !of.allows(c, target) {
			return false
		}
	}
	return true
}

func (s some) allows(c *Credentials, target map[string]any) bool {
	for _, of := range s {
		if of.allows(c, target) {
			return true
		}
	}
	return false
}

func (r *reference) allows(c *Credentials, target map[string]any) bool {
	return r.rule != nil && r.rule.allows(c, target)
}

func (h hasRole) allows(c *Credentials, _ map[string]any) bool { return c.hasRole(string(h)) }

func (r roleFrom) allows(c *Credentials, target map[string]any) bool {
	name, ok := template(r).expand(target)
	return ok && c.hasRole(strings.ToLower(name))
}

func (i isAdmin) allows(c *Credentials, _ map[string]any) bool { return c.IsAdmin == bool(i) }

func (a attribute) allows(c *Credentials, target map[string]any) bool {
	want, ok := a.want.expand(target)
	if !ok {
		return false
	}
	value := a.of(c)
	if value == "" {
		value = none
	}
	return value == want
}

func (o oneOf) allows(c *Credentials, target map[string]any) bool {
	want, ok := o.want.expand(target)
	return ok && slices.Contains(o.of(c), want)
}

func (l literal) allows(_ *Credentials, target map[string]any) bool {
	want, ok := l.want.expand(target)
	return ok && l.value == want
}

func (n nested) allows(c *Credentials, target map[string]any) bool {
	want, ok := n.want.expand(target)
	return ok && reaches(c.Extra, n.path, want)
}

// reaches looks for a value below a path; of a list, one fitting entry is
// enough.
func reaches(value any, path []string, want string) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, func(entry any) bool { return reaches(entry, path, want) })
	case []string:
		return len(path) == 0 && slices.Contains(v, want)
	case map[string]any:
		if len(path) == 0 {
			return false
		}
		below, ok := v[path[0]]
		return ok && reaches(below, path[1:], want)
	default:
		got, ok := text(v)
		return ok && len(path) == 0 && got == want
	}
}
