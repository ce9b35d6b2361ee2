package orchestration

// Which types of resources callers may use: policies of resource_types.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/stacks"
)

// typeRules is the beginning of the names of such policies.
const typeRules = "resource_types:"

// named is an enforcer that knows which rules it has.
type named interface{ Names() []string }

// mayUse says whether the caller may use a type: by the rule of its name, or that
// of all types whose names begin alike; a type without a rule is for everybody.
func (a *API) mayUse(r *rest.Request, name string) bool {
	rules, ok := a.Policy.(named)
	if !ok {
		return true
	}
	known := rules.Names()
	candidates := []string{typeRules + name}
	for at := strings.LastIndex(name, "::"); at > 0; at = strings.LastIndex(name[:at], "::") {
		candidates = append(candidates, typeRules+name[:at]+"::*")
	}
	for _, rule := range candidates {
		if slices.Contains(known, rule) {
			return r.Allows(rule, nil)
		}
	}
	return true
}

// mayUseAll refuses a definition with a type that the caller may not use, itself or
// in what is nested in it.
func (a *API) mayUseAll(r *rest.Request, d *stacks.Definition) error {
	for _, t := range d.Used() {
		if !a.mayUse(r, t.Name) {
			return faults.New(faults.Forbidden, "Forbidden", "You are not authorized to use %s.", t.Name)
		}
	}
	return nil
}
