package orchestration

// Which types of resources callers may use: policies of resource_types.

import (
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/stacks"
)

// typeRules is the beginning of the names of such policies.
const typeRules = "resource_types:"

// Policy is an enforcer that knows which rules it has.
type Policy interface {
	rest.Enforcer
	// Has says whether there is a rule of a name, be it the operator's alone.
	Has(rule string) bool
}

// mayUse says whether the caller may use a type: by the rule of its name, or that
// of all types whose names begin alike; a type without a rule is for everybody.
func (a *API) mayUse(r *rest.Request, name string) bool {
	candidates := []string{typeRules + name}
	for at := strings.LastIndex(name, "::"); at > 0; at = strings.LastIndex(name[:at], "::") {
		candidates = append(candidates, typeRules+name[:at]+"::*")
	}
	for _, rule := range candidates {
		if a.Policy.Has(rule) {
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
