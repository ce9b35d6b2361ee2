package policy

// Enforcer: the question that handlers ask, and the policy file behind it.

import (
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/schemas"
)

// Options say how a service's rules are enforced.
type Options struct {
	// File is the operator's policy file; empty for none.
	File string
	// AnyScope lets tokens of any scope ask for any rule (enforce_scope false).
	AnyScope bool
	// OldDefaults lets in whom a rule's former default let in too
	// (enforce_new_defaults false).
	OldDefaults bool
	// Log is told what is odd about the file; nil for slog's default.
	Log *slog.Logger
}

// Enforcer holds a service's rules. It is safe for concurrent use.
type Enforcer struct {
	options  Options
	defaults []Rule
	file     *file
	current  atomic.Pointer[ruleset]
	now      func() time.Time
}

// ForService makes the enforcer of a service whose defaults are built in:
// "compute", "orchestration" or "baremetal".
func ForService(service string, o Options) (*Enforcer, error) {
	defaults, err := schemas.Policies.ReadFile("policies/" + service + ".yaml")
	if err != nil {
		return nil, faults.Wrap(err, faults.Internal, "NoPolicies", "there are no policies of the service %s", service)
	}
	return New(defaults, o)
}

// New makes an enforcer of a service's defaults (schemas/policies). Errors are
// faults.Invalid and name the rule.
func New(defaults []byte, o Options) (*Enforcer, error) {
	rules, err := ReadDefaults(defaults)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	e := &Enforcer{options: o, defaults: rules, now: time.Now}
	var onTop overrides
	if o.File != "" {
		e.file = &file{path: o.File}
		if onTop, err = e.file.read(); err != nil {
			return nil, err
		}
		e.file.checked(e.now())
	}
	return e, e.use(onTop)
}

// use compiles and publishes a new set of rules.
func (e *Enforcer) use(onTop overrides) error {
	set, err := compile(e.defaults, onTop, !e.options.OldDefaults)
	if err != nil {
		return err
	}
	if missing := set.undefined(); len(missing) > 0 {
		e.options.Log.Warn("policies refer to rules that don't exist; those allow nothing", "references", missing)
	}
	e.current.Store(set)
	return nil
}

// Check says whether the rule lets the credentials act on the target, whose
// keys are the attributes that rules name in %(...)s; nil is the caller's own
// project and user. A refusal is a faults.Forbidden with Nova's text.
func (e *Enforcer) Check(creds Credentials, rule string, target map[string]any) error {
	if e.Allows(&creds, rule, target) {
		return nil
	}
	return faults.New(faults.Forbidden, "PolicyNotAuthorized", "Policy doesn't allow %s to be performed.", rule)
}

// Allows is Check as a question, for what depends on a rule without being
// refused by it.
func (e *Enforcer) Allows(creds *Credentials, rule string, target map[string]any) bool {
	e.refresh()
	set := e.current.Load()
	c, ok := set.get(rule)
	if !ok || !e.scopeFits(creds, set.scopes[rule]) {
		return false
	}
	if target == nil {
		target = OwnTarget(creds)
	}
	return c.allows(creds, target)
}

func (e *Enforcer) scopeFits(creds *Credentials, scopes []string) bool {
	if e.options.AnyScope || len(scopes) == 0 {
		return true
	}
	has := creds.scope()
	for _, scope := range scopes {
		if scope == has {
			return true
		}
	}
	return false
}

// OwnTarget is the target of a request on nothing in particular: the caller's
// own project and user.
func OwnTarget(creds *Credentials) map[string]any {
	return map[string]any{"project_id": orNil(creds.ProjectID), "user_id": orNil(creds.UserID)}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Has says whether there is a rule of a name: one of the service's, or one that
// only the policy file has.
func (e *Enforcer) Has(rule string) bool {
	e.refresh()
	_, ok := e.current.Load().rules[rule]
	return ok
}
