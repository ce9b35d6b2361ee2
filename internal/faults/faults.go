// Package faults holds the typed errors that travel through Holdfast.
//
// The package that knows a rule makes the Error; callers wrap it with
// fmt.Errorf("...: %w", err) on the way up; api/rest turns it into the
// service's fault body and workers into a Temporal application error, each at
// one place. Nothing here knows HTTP or Temporal.
package faults

import (
	"errors"
	"fmt"
)

// Kind is the class of an error. It decides the HTTP status of a fault and
// whether a failed activity is worth another attempt.
type Kind string

const (
	// Invalid input: what was asked can never work as asked (400).
	Invalid Kind = "invalid"
	// Unauthorized: no valid token (401).
	Unauthorized Kind = "unauthorized"
	// Forbidden by policy or quota (403).
	Forbidden Kind = "forbidden"
	// NotFound: the thing named isn't there, or isn't the caller's to see (404).
	NotFound Kind = "not_found"
	// Conflict with the present state (409).
	Conflict Kind = "conflict"
	// OverLimit: a quota, rate or size limit (403, 413 or 429, as the service has it).
	OverLimit Kind = "over_limit"
	// Superseded: another operation owns the resource now; the caller stops
	// at once and touches nothing more.
	Superseded Kind = "superseded"
	// NoCapacity: no host can take what was asked.
	NoCapacity Kind = "no_capacity"
	// Unavailable: a service or device can't be reached or is busy; retried.
	Unavailable Kind = "unavailable"
	// Internal: a broken assumption; retried, and a 500 if it reaches a user.
	Internal Kind = "internal"
)

// Known says whether k is one of the kinds above.
func (k Kind) Known() bool {
	switch k {
	case Invalid, Unauthorized, Forbidden, NotFound, Conflict, OverLimit, Superseded, NoCapacity, Unavailable, Internal:
		return true
	}
	return false
}

// Retryable says whether another attempt at the same thing may succeed.
func (k Kind) Retryable() bool { return k == Unavailable || k == Internal }

// Error is a failure somebody will read.
type Error struct {
	Kind Kind
	// Code is a stable name for programs, for example "NoValidHost".
	Code string
	// Message is the sentence for the user. It holds no secret.
	Message string
	// Err is the cause, for logs only.
	Err error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// New makes an Error; format and args give its message.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error with a cause.
func Wrap(err error, kind Kind, code, format string, args ...any) *Error {
	e := New(kind, code, format, args...)
	e.Err = err
	return e
}

// As finds the Error in err's chain. An error without one is Internal, so that
// every caller has one thing to look at; nil gives nil.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Code: "InternalError", Message: "an unexpected error occurred", Err: err}
}

// Is says whether err is of the given kind.
func Is(err error, kind Kind) bool { return err != nil && As(err).Kind == kind }
