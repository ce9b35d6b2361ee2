package policy

// A service's default rules and how they become one set with an operator's.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/faults"
)

// Rule is a default of a service, as schemas/policies/<service>.yaml has it.
type Rule struct {
	Name  string `yaml:"name"`
	Check string `yaml:"check"`
	// Scopes are the kinds of token that may ask: project, domain, system.
	// Empty: any.
	Scopes []string `yaml:"scopes,omitempty,flow"`
	// Operations are the requests that ask for the rule, "GET /servers".
	Operations []string `yaml:"operations,omitempty"`
	// Deprecated are the rules that this one took the place of.
	Deprecated []Deprecated `yaml:"deprecated,omitempty"`
}

// Deprecated is the former form of a rule.
type Deprecated struct {
	Name  string `yaml:"name"`
	Check string `yaml:"check"`
	Since string `yaml:"since,omitempty"`
}

// ReadDefaults reads a service's rules. An unknown key is an error.
func ReadDefaults(document []byte) ([]Rule, error) {
	var file struct {
		Rules []Rule `yaml:"rules"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(document)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return nil, invalid("the default policies: %s", err)
	}
	return file.Rules, nil
}

// overrides are the rules of an operator's policy file: name → text or list.
type overrides map[string]any

// defaultRule is the name of the rule that stands in for unknown ones, if the
// policy file has it (oslo_policy/policy_default_rule).
const defaultRule = "default"

// ruleset is a compiled, linked set; it never changes.
type ruleset struct {
	rules  map[string]check
	scopes map[string][]string
}

// compile makes one set of the defaults and what the operator put in their
// place.
func compile(defaults []Rule, file overrides, newDefaultsOnly bool) (*ruleset, error) {
	set := &ruleset{rules: map[string]check{}, scopes: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		c, err := parse(file[name])
		if err != nil {
			return nil, invalid("policy %q: %s", name, err)
		}
		set.rules[name] = c
	}
	for _, rule := range defaults {
		if _, twice := set.scopes[rule.Name]; twice {
			return nil, invalid("policy %q stands twice among the defaults", rule.Name)
		}
		set.scopes[rule.Name] = rule.Scopes
		if _, overridden := file[rule.Name]; overridden {
			continue
		}
		c, err := rule.effective(file, newDefaultsOnly)
		if err != nil {
			return nil, invalid("policy %q: %s", rule.Name, err)
		}
		set.rules[rule.Name] = c
	}
	return set, set.link()
}

// effective is the check of a rule that the operator left alone: its default,
// or what the operator made of the rule under its former name, and, while old
// defaults are still honoured, the former check beside it.
func (r *Rule) effective(file overrides, newDefaultsOnly bool) (check, error) {
	current, err := parse(r.Check)
	if err != nil {
		return nil, err
	}
	either := some{current}
	for _, former := range r.Deprecated {
		old, renamed := file[former.Name]
		if renamed && former.Name != r.Name && old != former.Check && old != "rule:"+r.Name {
			return parse(old)
		}
		if newDefaultsOnly || former.Check == r.Check {
			continue
		}
		c, err := parse(former.Check)
		if err != nil {
			return nil, err
		}
		either = append(either, c)
	}
	if len(either) == 1 {
		return current, nil
	}
	return either, nil
}

// get is a rule by name, or the one that stands in for unknown names.
func (s *ruleset) get(name string) (check, bool) {
	if c, ok := s.rules[name]; ok {
		return c, true
	}
	c, ok := s.rules[defaultRule]
	return c, ok
}

// link resolves every reference and refuses rules that lead back to
// themselves.
func (s *ruleset) link() error {
	for _, c := range s.rules {
		for _, r := range references(c) {
			r.rule, _ = s.get(r.name)
		}
	}
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		if err := s.follow(name, nil, done); err != nil {
			return err
		}
	}
	return nil
}

// follow walks the references of a rule; path are the rules that led here.
func (s *ruleset) follow(name string, path []string, done map[string]bool) error {
	if slices.Contains(path, name) {
		return invalid("policy %q leads back to itself: %s", name, strings.Join(append(path, name), " -> "))
	}
	if done[name] {
		return nil
	}
	c, ok := s.rules[name]
	if !ok {
		if c, ok = s.rules[defaultRule]; !ok || name == defaultRule {
			return nil
		}
	}
	path = append(slices.Clone(path), name)
	for _, r := range references(c) {
		if err := s.follow(r.name, path, done); err != nil {
			return err
		}
	}
	done[name] = true
	return nil
}

// undefined are the references that no rule answers, "a -> b".
func (s *ruleset) undefined() []string {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		for _, r := range references(s.rules[name]) {
			if r.rule == nil {
				missing = append(missing, fmt.Sprintf("%s -> %s", name, r.name))
			}
		}
	}
	return missing
}

// references are the references in a check itself, not those behind them.
func references(c check) []*reference {
	switch c := c.(type) {
	case *reference:
		return []*reference{c}
	case not:
		return references(c.of)
	case all:
		return referencesOf(c)
	case some:
		return referencesOf(c)
	default:
		return nil
	}
}

func referencesOf(checks []check) []*reference {
	var found []*reference
	for _, c := range checks {
		found = append(found, references(c)...)
	}
	return found
}

func invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidPolicy", format, args...)
}
