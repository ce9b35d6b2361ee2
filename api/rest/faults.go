package rest

// The one place where errors become answers.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
)

// Fault is an error whose status only HTTP knows: 406, 410, 413, 415 and the
// like. Everything else is a faults.Error.
type Fault struct {
	Status  int
	Message string
}

func (f *Fault) Error() string { return f.Message }

// NewFault makes a Fault.
func NewFault(status int, format string, args ...any) *Fault {
	return &Fault{Status: status, Message: fmt.Sprintf(format, args...)}
}

// Faults is how a service words its faults.
type Faults struct {
	// Status overrides the common status of a kind, Code that of a code.
	Status map[faults.Kind]int
	Code   map[string]int
	// Body makes the fault's body.
	Body func(status int, message string) any
	// Classed makes the body instead, for a service whose faults name their class:
	// the code of a fault, empty for what only HTTP knows.
	Classed func(status int, class, message string) any
	// Routing makes the body of what no handler has seen: a path or a method that
	// the service doesn't have, a version that it doesn't serve. With it, a method
	// that a path lacks is 405; nil has the common answers.
	Routing func(status int, message string) any
	// ContentType of faults; empty is application/json.
	ContentType string
	// Internal is the message of a 500: no cause, no stack.
	Internal func(requestID string) string
	// Unauthorized is the body of a 401, which the originals' token middleware
	// writes, not the service.
	Unauthorized func(message string) any
}

// statuses are the common statuses of the kinds.
var statuses = map[faults.Kind]int{
	faults.Invalid:      http.StatusBadRequest,
	faults.Unauthorized: http.StatusUnauthorized,
	faults.Forbidden:    http.StatusForbidden,
	faults.NotFound:     http.StatusNotFound,
	faults.Conflict:     http.StatusConflict,
	faults.Superseded:   http.StatusConflict,
	faults.OverLimit:    http.StatusForbidden,
	faults.NoCapacity:   http.StatusConflict,
	faults.Unavailable:  http.StatusServiceUnavailable,
	faults.Internal:     http.StatusInternalServerError,
}

// answerFor turns an error into status and body. Causes go to the log, the
// message to the user.
func (s *Service) answerFor(ctx context.Context, log *slog.Logger, requestID string, err error) (int, any) {
	status, message := s.wording(err)
	var routing *routingFault
	var notAcceptable *microversion.NotAcceptable
	if s.Faults.Routing != nil && (errors.As(err, &routing) || errors.As(err, &notAcceptable)) {
		return status, s.Faults.Routing(status, message)
	}
	switch {
	case status == http.StatusUnauthorized && s.Faults.Unauthorized != nil:
		return status, s.Faults.Unauthorized(message)
	case status == http.StatusInternalServerError && !worded(err):
		log.ErrorContext(ctx, "request failed", "error", err)
		return status, s.faultBody(status, nil, s.Faults.Internal(requestID))
	case status == http.StatusServiceUnavailable:
		log.WarnContext(ctx, "request can't be served", "error", err)
	}
	return status, s.faultBody(status, err, message)
}

// worded says whether an error was made for users to read, whatever its status.
func worded(err error) bool {
	var fault *Fault
	return errors.As(err, &fault)
}

// faultBody is the body of an error; nil is one of ours, of which nobody is told.
func (s *Service) faultBody(status int, err error, message string) any {
	if s.Faults.Classed == nil {
		return s.Faults.Body(status, message)
	}
	var fault *faults.Error
	class := ""
	if errors.As(err, &fault) {
		class = fault.Code
	}
	return s.Faults.Classed(status, class, message)
}

// routingFault is a request that no row of the table is for.
type routingFault struct {
	status  int
	message string
}

func (r *routingFault) Error() string { return r.message }

// NewRoutingFault refuses what a service words like a path or a method that it
// doesn't have (Faults.Routing).
func NewRoutingFault(status int, message string) error { return &routingFault{status, message} }

func (s *Service) wording(err error) (status int, message string) {
	var routing *routingFault
	if errors.As(err, &routing) {
		return routing.status, routing.Error()
	}
	var fault *Fault
	if errors.As(err, &fault) {
		return fault.Status, fault.Message
	}
	var notAcceptable *microversion.NotAcceptable
	if errors.As(err, &notAcceptable) {
		return http.StatusNotAcceptable, notAcceptable.Error()
	}
	f := faults.As(err)
	if f.Kind != faults.Unavailable && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return http.StatusServiceUnavailable, "The request took too long."
	}
	status, ok := s.Faults.Code[f.Code]
	if !ok {
		status, ok = s.Faults.Status[f.Kind]
	}
	if !ok {
		status, ok = statuses[f.Kind]
	}
	if !ok {
		status = http.StatusInternalServerError
	}
	return status, f.Message
}
