package compute

// DELETE /servers/{id}, and the actions forceDelete and restore.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// deleteServer deletes a server, or sets it aside where the configuration keeps
// what users delete and there is something to restore.
func (a *API) deleteServer(r *rest.Request) (*rest.Response, error) {
	return a.remove(r, func(s *compute.Server) bool {
		return a.SoftDelete && s.HostID != "" && s.LaunchedAt != nil && s.VMState != servers.VMResized
	})
}

// forceDelete deletes a server for good.
func (a *API) forceDelete(r *rest.Request) (*rest.Response, error) {
	return a.remove(r, func(*compute.Server) bool { return false })
}

// remove accepts the delete, whatever else runs on the server: a build is
// pre-empted, and a second delete joins the first and is a silent 204.
func (a *API) remove(r *rest.Request, softly func(*compute.Server) bool) (*rest.Response, error) {
	var accepted engine.Accepted
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		server, err := compute.LockServer(r.Context(), tx, r.Identity.Scope(), r.Param("id"))
		if err != nil {
			return err
		}
		if err := notLocked(r.Identity, server); err != nil {
			return err
		}
		kind, task := operations.ServerDelete, servers.TaskDeleting
		if softly(server) {
			kind, task = operations.ServerSoftDelete, servers.TaskSoftDeleting
		}
		accepted, err = a.accept(r, tx, kind, server, nil)
		if err != nil || accepted.Meeting == operations.Join {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, task)
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return nil, nil
}

const policyRestore = "os_compute_api:os-deferred-delete:restore"

var restorable = precondition{name: "restore", vmStates: []servers.VMState{servers.VMSoftDeleted}, taskStates: idle, launched: true, unlocked: true}

// restoreServer accepts the restore of a server that was set aside. One that has
// no host has nothing to be turned on, and is active at once.
func (a *API) restoreServer(r *rest.Request) (*rest.Response, error) {
	var accepted engine.Accepted
	err := a.onServer(r, policyRestore, func(tx store.Tx, server *compute.Server) error {
		if err := restorable.check(r, server); err != nil {
			return err
		}
		if err := compute.RestoreServer(r.Context(), tx, server); err != nil {
			return err
		}
		if server.HostID == "" {
			active := string(servers.VMActive)
			if err := compute.PublishServer(r.Context(), tx, server.ID, steps.ServerOutcome{VMState: &active}, nil); err != nil {
				return err
			}
			return record(r, tx, server, "restore")
		}
		var err error
		accepted, err = a.accept(r, tx, operations.ServerRestore, server, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return nil, nil
}

// notLocked refuses what a locked server doesn't allow; an administrator may.
func notLocked(who rest.Identity, server *compute.Server) error {
	if server.Locked && !who.IsAdmin {
		return faults.New(faults.Conflict, "InstanceIsLocked", "Instance %s is locked", server.ID)
	}
	return nil
}
