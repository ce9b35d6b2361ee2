package compute

// Requests that wait for their operation, as the original answers them when the
// work is done.

import (
	"cmp"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// waitsFor is how long a request waits for its operation; what lasts longer goes on
// behind its answer.
const waitsFor = 30 * time.Second

// failures are the kinds of faults that operations end with, by their codes
// (contracts: errors.json); others are internal.
var failures = map[string]faults.Kind{
	"VolumeNotFound": faults.NotFound, "VolumeBDMNotFound": faults.NotFound, "NetworkNotFound": faults.NotFound, "PortNotFound": faults.NotFound,
	"InvalidVolume": faults.Invalid, "PortNotUsable": faults.Invalid, "PortRequiresFixedIP": faults.Invalid, "InvalidIpForNetwork": faults.Invalid,
	"NoMoreFixedIps": faults.Invalid, "NoValidHost": faults.Invalid, "UnableToMigrateToSelf": faults.Invalid, "MigrationPreCheckError": faults.Invalid,
	"InvalidLocalStorage": faults.Invalid, "InvalidSharedStorage": faults.Invalid, "HypervisorUnavailable": faults.Invalid, "HostDown": faults.Invalid,
	"ComputeServiceUnavailable": faults.Invalid, steps.CodeNotSupported: faults.Invalid, "InstanceNotFound": faults.NotFound,
	"InstanceInvalidState": faults.Conflict, "InstanceNotRunning": faults.Conflict, "PortInUse": faults.Conflict, "FixedIpAlreadyInUse": faults.Conflict,
	"Cancelled": faults.Conflict, "Superseded": faults.Conflict,
	"PortLimitExceeded": faults.OverLimit, "OverQuota": faults.OverLimit,
}

// await waits for an operation to end, and gives what it failed with.
func (a *API) await(r *rest.Request, operationID string) error {
	return a.awaitUnless(r, operationID, engine.ToTheEnd)
}

// awaitUnless is await that ends once enough of the operation is done.
func (a *API) awaitUnless(r *rest.Request, operationID string, enough func() (bool, error)) error {
	op, err := a.Engine.Await(r.Context(), a.DB.Pool, operationID, cmp.Or(a.WaitsFor, waitsFor), enough)
	if err != nil || !op.Finished() {
		return err
	}
	return op.Failure(failures)
}
