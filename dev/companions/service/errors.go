package service

// Failures that a client reads.

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Error is an answer other than success. Each companion writes it in the body
// of the service it stands for.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Type is a stable name for programs, "NetworkNotFound"; empty where the
	// service has none.
	Type string
	// Message is the sentence for the user.
	Message string
	// Err is the cause, for the log only.
	Err error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Fail makes an Error.
func Fail(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// Typed makes an Error with a type.
func Typed(status int, kind, format string, args ...any) *Error {
	return &Error{Status: status, Type: kind, Message: fmt.Sprintf(format, args...)}
}

// AsError finds the Error in err's chain; an error without one is a 500 that
// tells the client nothing but that.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	// Class 22: a NUL in a text, a number out of range.
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Code, "22") {
		return &Error{Status: http.StatusBadRequest, Type: "InvalidInput", Message: "The request holds a value that can't be stored.", Err: err}
	}
	return &Error{Status: http.StatusInternalServerError, Type: "InternalServerError",
		Message: "An unexpected error prevented the server from fulfilling your request.", Err: err}
}
