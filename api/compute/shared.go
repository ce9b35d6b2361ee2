package compute

// Operations that share their server, and requests that wait for their
// operation, as the original answers them when the work is done.

import (
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// share accepts an operation that shares the server; holds are what the
// request's transaction has written for it.
func (a *API) share(r *rest.Request, tx store.Tx, kind operations.Kind, server *compute.Server, input any, holds ...operations.Effect) (engine.Accepted, error) {
	return a.Engine.Accept(r.Context(), tx, engine.Request{
		Kind: kind, ResourceID: server.ID, ProjectID: server.ProjectID, UserID: r.Identity.UserID, RequestID: r.ID, Input: input, Holds: holds,
	})
}

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
	"VolumeNotFound": faults.NotFound, "NetworkNotFound": faults.NotFound, "PortNotFound": faults.NotFound,
	"InvalidVolume": faults.Invalid, "InvalidInput": faults.Invalid, "PortNotUsable": faults.Invalid, "PortRequiresFixedIP": faults.Invalid,
	"NoMoreFixedIps": faults.Invalid, "SecurityGroupCannotBeApplied": faults.Invalid, "NetworkAmbiguous": faults.Invalid,
	"PortInUse": faults.Conflict, "FixedIpAlreadyInUse": faults.Conflict, "Cancelled": faults.Conflict, "Superseded": faults.Conflict,
	"PortLimitExceeded": faults.OverLimit,
}

// await waits for an operation to end, and gives what it failed with.
func (a *API) await(r *rest.Request, operationID string) error {
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

// hostUp refuses what the server's host can't do while it is down.
func (a *API) hostUp(r *rest.Request, q store.Queryer, hostID string) error {
	host, err := compute.GetHost(r.Context(), q, hostID)
	if err != nil || host.Up(a.HostDownAfter) {
		return err
	}
	return faults.New(faults.Conflict, "ServiceUnavailable", "Service is unavailable at this time.")
}
