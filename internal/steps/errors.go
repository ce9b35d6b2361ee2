package steps

// How an error crosses from an activity to a workflow: its faults.Kind is the
// type of the Temporal application error, its Code and Message are details.

import (
	"errors"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
)

// Encode makes the Temporal error of an activity's error: kinds that another
// attempt can't help are not retried. The cause stays behind, in the worker's
// log, since histories are read by others.
func Encode(err error) error { return encode(err, false) }

// EncodeLast is Encode of an error after which the step isn't tried again.
func EncodeLast(err error) error { return encode(err, true) }

func encode(err error, last bool) error {
	f := faults.As(err)
	if f == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Kind), temporal.ApplicationErrorOptions{
		NonRetryable: last || !f.Kind.Retryable(),
		Details:      []any{f.Code},
	})
}

// Decode gives the fault in an error that a step returned; nil if it holds
// none (a timeout or a cancel). An error that no activity of ours has encoded,
// a panic for example, is Internal and keeps its text to itself.
func Decode(err error) *faults.Error {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return nil
	}
	kind := faults.Kind(app.Type())
	if !kind.Known() {
		return faults.Wrap(err, faults.Internal, "InternalError", "an unexpected error occurred")
	}
	var code string
	if app.HasDetails() {
		if app.Details(&code) != nil {
			code = ""
		}
	}
	return faults.New(kind, code, "%s", app.Message())
}

// IsSuperseded says that the operation has lost its resource: its workflow
// ends and touches nothing more.
func IsSuperseded(err error) bool {
	f := Decode(err)
	return f != nil && f.Kind == faults.Superseded
}

// CodeNotSupported is the code of what the driver of a host can't do: nothing has been
// done, and nothing is wrong with the server.
const CodeNotSupported = "NotSupportedByDriver"

// IsNotSupported says that a step was refused for that.
func IsNotSupported(err error) bool {
	f := Decode(err)
	return f != nil && f.Code == CodeNotSupported
}

// IsHostSilent says that no worker of the host took the step in time, or that
// one took it and was not heard of again.
func IsHostSilent(err error) bool {
	t := timeoutOf(err)
	return t == enums.TIMEOUT_TYPE_SCHEDULE_TO_START || t == enums.TIMEOUT_TYPE_HEARTBEAT
}

// IsTooSlow says that the step was at work and alive for longer than one
// attempt may take.
func IsTooSlow(err error) bool { return timeoutOf(err) == enums.TIMEOUT_TYPE_START_TO_CLOSE }

// ErrDeadline ends a step whose time, given by Until, has run out.
var ErrDeadline = faults.New(faults.Internal, "DeadlineExceeded", "the operation did not end in time")

func timeoutOf(err error) enums.TimeoutType {
	var timeout *temporal.TimeoutError
	if !errors.As(err, &timeout) {
		return enums.TIMEOUT_TYPE_UNSPECIFIED
	}
	return timeout.TimeoutType()
}
