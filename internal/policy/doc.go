// Package policy decides who may do what, as oslo.policy does.
//
// A service's rules are data: its defaults (schemas/policies/<service>.yaml)
// and, on top of them, an operator's policy file, which is read again when it
// changes. Both are compiled into checks whose references are resolved, so that
// a decision reads no text. What can't be understood is refused when it is
// loaded: a rule with bad syntax, a cycle, a check that would ask a remote
// server. A rule that nobody knows allows nothing.
//
// The package knows neither HTTP nor tokens: internal/identity makes the
// Credentials, api/rest and the services' handlers ask an Enforcer, and a
// refusal is a faults.Forbidden with the original's text.
package policy
