package openstack

// Undos at services.

import (
	"context"
	"errors"

	"holdfast.dev/internal/faults"
)

// Again makes every error of an undo one that is tried again: what stays behind
// is worse than a call too many. Who has lost the server, or is cancelled, tries
// nothing more.
func Again(err error, code, message string) error {
	if f := faults.As(err); f == nil || f.Kind.Retryable() || f.Kind == faults.Superseded || errors.Is(err, context.Canceled) {
		return err
	}
	return faults.Wrap(err, faults.Unavailable, code, "%s", message)
}
