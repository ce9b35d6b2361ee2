package rest

// Who may: the service's rules, asked before the handler and by it.

import (
	"errors"

	"holdfast.dev/internal/policy"
)

// Enforcer holds a service's rules; internal/policy has the one there is.
type Enforcer interface {
	// Check refuses with faults.Forbidden what the rule doesn't let the
	// credentials do to the target; a nil target is the caller's own project.
	Check(creds policy.Credentials, rule string, target map[string]any) error
}

// errNoEnforcer keeps a service whose rows name policies from being served
// without them.
var errNoEnforcer = errors.New("its operations have policies and nothing enforces them")

// administrator is the rule that makes an administrator (is_admin:True).
const administrator = "context_is_admin"

// Enforce refuses what a rule doesn't let the caller do to a target, whose keys are
// the attributes that rules name: project_id and user_id of the row.
func (r *Request) Enforce(rule string, target map[string]any) error {
	return r.service.Policy.Check(r.Identity.Credentials, rule, target)
}

// Allows is Enforce as a question, for what depends on a rule without being
// refused by it.
func (r *Request) Allows(rule string, target map[string]any) bool {
	return r.Enforce(rule, target) == nil
}

// judge decides whether the caller is an administrator of this service.
func (r *Request) judge() {
	if r.service.Policy != nil {
		r.Identity.IsAdmin = r.Allows(administrator, nil)
	}
}

// permit asks the operation's own rule about the caller's project, unless its
// handler does. A handler whose rows may be another's asks again, about the row.
func (r *Request) permit(o *Operation) error {
	if o.Policy == "" || o.Targeted {
		return nil
	}
	return r.Enforce(o.Policy, nil)
}
