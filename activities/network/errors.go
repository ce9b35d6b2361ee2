package network

// What Neutron's errors mean.

import (
	"context"
	"errors"
	"net/http"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
)

// CodeNetworkError is the original's word for what Neutron refuses.
const CodeNetworkError = "NetworkError"

// kinds are those of answers. A service user that is refused is a fault of the
// configuration, which an operator repairs.
var kinds = map[int]faults.Kind{
	http.StatusBadRequest: faults.Invalid,
	http.StatusNotFound:   faults.NotFound,
	http.StatusConflict:   faults.Conflict,
}

// fault gives the meaning of a call's error; nil for nil.
func fault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	said, answered := openstack.Refused(err)
	if !answered {
		return faults.Wrap(err, faults.Unavailable, CodeNetworkError, "the network service can't be reached")
	}
	kind, ok := kinds[said.Status]
	if !ok {
		kind = faults.Unavailable
	}
	return faults.Wrap(err, kind, CodeNetworkError, "%s", said.Message)
}

// refusal has a call that Neutron refuses end in words of the original's, whose last is
// what Neutron has said. Errors that another attempt may not have stay as they are.
func refusal(err error, format string, args ...any) error {
	f := faults.As(err)
	if f == nil || f.Kind.Retryable() || f.Kind == faults.Superseded || f.Code != CodeNetworkError {
		return err
	}
	return faults.Wrap(err, faults.Conflict, CodeNetworkError, format, append(args, f.Message)...)
}
