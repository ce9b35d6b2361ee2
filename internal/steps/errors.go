package steps

// How an error crosses from an activity to a workflow: its faults.Kind is the
// type of the Temporal application error, its Code and Message are details.

import (
	"errors"

	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
)

// Encode makes the Temporal error of an activity's error: kinds that another
// attempt can't help are not retried. The cause stays behind, in the worker's
// log, since histories are read by others.
func Encode(err error) error {
	f := faults.As(err)
	if f == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Kind), temporal.ApplicationErrorOptions{
		NonRetryable: !f.Kind.Retryable(),
		Details:      []any{f.Code},
	})
}

// Decode gives the fault in an error that a step returned; nil if it holds
// none (a timeout or a cancel).
func Decode(err error) *faults.Error {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return nil
	}
	var code string
	if app.HasDetails() {
		if app.Details(&code) != nil {
			code = ""
		}
	}
	return faults.New(faults.Kind(app.Type()), code, "%s", app.Message())
}

// IsSuperseded says that the operation has lost its resource: its workflow
// ends and touches nothing more.
func IsSuperseded(err error) bool {
	f := Decode(err)
	return f != nil && f.Kind == faults.Superseded
}

// IsHostSilent says that no worker of the host took the step in time, or that
// one took it and was not heard of again.
func IsHostSilent(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout)
}
