package policy

// Random rules against an evaluator that knows no compiled form: it walks the
// expression as it was made, and formats text as Python does.

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// expression is a rule before it is written down.
type expression struct {
	word string // "and", "or", "not", or a whole check
	of   []expression
}

// write gives the expression's text; parentheses stand where they must, and
// sometimes where they needn't.
func (e expression) write(t *rapid.T) string {
	var parts []string
	for _, part := range e.of {
		text := part.write(t)
		if part.of != nil && (part.word != "not" || rapid.Bool().Draw(t, "parentheses")) {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	space := rapid.SampledFrom([]string{" ", "  ", "\n "}).Draw(t, "space")
	switch e.word {
	case "and", "or":
		word := e.word
		if rapid.Bool().Draw(t, "upper case") {
			word = strings.ToUpper(word)
		}
		return strings.Join(parts, space+word+space)
	case "not":
		return "not" + space + parts[0]
	default:
		return e.word
	}
}

// caller is who asks, once as Credentials and once as the dictionary that
// oslo.policy is given.
type caller struct {
	creds  Credentials
	dict   map[string]any
	target map[string]any
}

// holds evaluates by brute force.
func (e expression) holds(rules map[string]expression, c caller) bool {
	switch e.word {
	case "and":
		for _, part := range e.of {
			if !part.holds(rules, c) {
				return false
			}
		}
		return true
	case "or":
		for _, part := range e.of {
			if part.holds(rules, c) {
				return true
			}
		}
		return false
	case "not":
		return !e.of[0].holds(rules, c)
	case "@", "!":
		return e.word == "@"
	}
	kind, match, _ := strings.Cut(e.word, ":")
	if kind == "rule" {
		rule, ok := rules[match]
		return ok && rule.holds(rules, c)
	}
	for strings.Contains(match, "%(") {
		before, after, _ := strings.Cut(match, "%(")
		key, rest, _ := strings.Cut(after, ")s")
		value, ok := c.target[key]
		if !ok {
			return false
		}
		match = before + python(value) + rest
	}
	switch {
	case kind == "role":
		for _, role := range c.creds.Roles {
			if strings.EqualFold(role, match) {
				return true
			}
		}
		return false
	case strings.HasPrefix(kind, "'"):
		return match == strings.Trim(kind, "'")
	case kind == "True" || kind == "None":
		return match == kind
	}
	var value any = c.dict
	for part := range strings.SplitSeq(kind, ".") {
		below, ok := value.(map[string]any)[part]
		if !ok {
			return false
		}
		value = below
	}
	return python(value) == match
}

func python(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	default:
		return fmt.Sprint(v)
	}
}

var checks = []string{
	"@", "!", "role:admin", "role:Reader", "role:%(role)s", "is_admin:True", "is_admin:False",
	"project_id:%(project_id)s", "user_id:%(owner)s", "user_id:%(no.such)s", "user_id:u1", "domain_id:None",
	"system_scope:all", "'p1':%(project_id)s", "None:%(owner)s", "True:%(enabled)s", "is_admin_project:True",
	"project_id:%(prefix)s%(number)s", "deep.er.id:%(owner)s", "absent:x", "rule:no-such-rule",
}

// expressions draws a rule that may refer to the rules given.
func expressions(refer []string, depth int) *rapid.Generator[expression] {
	return rapid.Custom(func(t *rapid.T) expression {
		leaves := checks
		for _, name := range refer {
			leaves = append(leaves[:len(leaves):len(leaves)], "rule:"+name)
		}
		leaf := rapid.Map(rapid.SampledFrom(leaves), func(word string) expression { return expression{word: word} })
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
			return leaf.Draw(t, "check")
		}
		below := expressions(refer, depth-1)
		switch word := rapid.SampledFrom([]string{"and", "or", "not"}).Draw(t, "word"); word {
		case "not":
			return expression{word, []expression{below.Draw(t, "of")}}
		default:
			return expression{word, rapid.SliceOfN(below, 2, 4).Draw(t, "of")}
		}
	})
}

func callers() *rapid.Generator[caller] {
	return rapid.Custom(func(t *rapid.T) caller {
		var c caller
		id := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		c.creds = Credentials{
			UserID: id("user", "u1", "u2"), ProjectID: id("project", "p1", "p2", ""), DomainID: id("domain", "", "d1"),
			SystemScope: id("system", "", "all"), IsAdmin: rapid.Bool().Draw(t, "admin"), IsAdminProject: rapid.Bool().Draw(t, "admin project"),
			Roles: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"admin", "Member", "reader"}), rapid.ID).Draw(t, "roles"),
			Extra: map[string]any{"deep": map[string]any{"er": map[string]any{"id": "u1"}}},
		}
		orNone := func(s string) any {
			if s == "" {
				return nil
			}
			return s
		}
		c.dict = map[string]any{
			"user_id": orNone(c.creds.UserID), "project_id": orNone(c.creds.ProjectID), "domain_id": orNone(c.creds.DomainID),
			"system_scope": orNone(c.creds.SystemScope), "is_admin": c.creds.IsAdmin, "is_admin_project": c.creds.IsAdminProject,
			"deep": c.creds.Extra["deep"],
		}
		c.target = map[string]any{}
		for key, values := range map[string][]any{
			"project_id": {"p1", "p2", nil}, "owner": {"u1", nil}, "role": {"ADMIN", "member"}, "enabled": {true, false, "True"},
			"prefix": {"p", ""}, "number": {1, 2},
		} {
			if rapid.IntRange(0, 5).Draw(t, key+" there") > 0 {
				c.target[key] = rapid.SampledFrom(values).Draw(t, key)
			}
		}
		return c
	})
}

func TestCompiledRulesDecideAsTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, file := map[string]expression{}, overrides{}
		var names []string
		for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
			name := fmt.Sprintf("r%d", i)
			rules[name] = expressions(names, 3).Draw(t, name)
			file[name] = rules[name].write(t)
			names = append(names, name)
		}
		set, err := compile(nil, file, true)
		if err != nil {
			t.Fatalf("%v: %v", file, err)
		}
		for range 8 {
			c := callers().Draw(t, "caller")
			for _, name := range names {
				if got, want := set.rules[name].allows(&c.creds, c.target), rules[name].holds(rules, c); got != want {
					t.Fatalf("%s: %q is %v, want %v for %+v on %v", name, file[name], got, want, c.creds, c.target)
				}
			}
		}
	})
}

// Any text is either refused or compiled; nothing panics.
func FuzzParse(f *testing.F) {
	for _, seed := range checks {
		f.Add(seed)
	}
	for _, seed := range []string{"(role:a or role:b) and not role:c", "((", "a:b)", "%(x", "x:%(y", "':%(y)s", "not", "or and"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rule string) {
		set, err := compile(nil, overrides{"r": rule}, true)
		if err == nil {
			set.rules["r"].allows(&Credentials{Roles: []string{"admin"}}, map[string]any{"y": 1})
		}
	})
}
