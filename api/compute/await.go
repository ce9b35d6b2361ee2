package compute

// Requests that wait for their operation, as the original answers them when the
// work is done.

import (
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
)

const (
	// waitsFor is how long a request waits for its operation; what lasts longer
	// goes on behind its answer.
	waitsFor = 30 * time.Second
	// looksEvery is the time between two looks.
	looksEvery = 100 * time.Millisecond
)

// failures are the kinds of faults that operations end with, by their codes
// (contracts: errors.json); others are internal.
var failures = map[string]faults.Kind{
	"VolumeNotFound": faults.NotFound, "VolumeBDMNotFound": faults.NotFound, "NetworkNotFound": faults.NotFound, "PortNotFound": faults.NotFound,
	"InvalidVolume": faults.Invalid, "PortNotUsable": faults.Invalid, "PortRequiresFixedIP": faults.Invalid, "InvalidIpForNetwork": faults.Invalid,
	"NoMoreFixedIps": faults.Invalid, "NoValidHost": faults.Invalid, "UnableToMigrateToSelf": faults.Invalid, "MigrationPreCheckError": faults.Invalid,
	"InvalidLocalStorage": faults.Invalid, "InvalidSharedStorage": faults.Invalid, "HypervisorUnavailable": faults.Invalid, "HostDown": faults.Invalid,
	"InstanceInvalidState": faults.Conflict, "InstanceNotRunning": faults.Conflict, "PortInUse": faults.Conflict, "FixedIpAlreadyInUse": faults.Conflict,
	"Cancelled": faults.Conflict, "Superseded": faults.Conflict,
	"PortLimitExceeded": faults.OverLimit, "OverQuota": faults.OverLimit,
}

// await waits for an operation to end, and gives what it failed with.
func (a *API) await(r *rest.Request, operationID string) error {
	return a.awaitUnless(r, operationID, func() (bool, error) { return false, nil })
}

// awaitUnless is await that ends once enough of the operation is done.
func (a *API) awaitUnless(r *rest.Request, operationID string, enough func() (bool, error)) error {
	wait := a.WaitsFor
	if wait == 0 {
		wait = waitsFor
	}
	over := time.After(wait)
	for {
		op, err := a.Engine.Get(r.Context(), a.DB.Pool, operationID)
		if err != nil {
			return err
		}
		if op.Finished() {
			return failureOf(op)
		}
		if done, err := enough(); err != nil || done {
			return err
		}
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-over:
			return nil
		case <-time.After(looksEvery):
		}
	}
}

func failureOf(op engine.Operation) error {
	if op.Result == operations.ResultDone {
		return nil
	}
	kind, ok := failures[op.ErrorCode]
	if !ok {
		kind = faults.Internal
	}
	return faults.New(kind, op.ErrorCode, "%s", op.Message)
}
