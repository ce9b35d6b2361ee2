package compute

// DELETE /servers/{id}

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// deleteServer accepts the delete, whatever else runs on the server: a build is
// pre-empted, and a second delete joins the first and is a silent 204.
func (a *API) deleteServer(r *rest.Request) (*rest.Response, error) {
	var accepted engine.Accepted
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		server, err := compute.LockServer(r.Context(), tx, r.Identity.Scope(), r.Param("id"))
		if err != nil {
			return err
		}
		if err := notLocked(r.Identity, server); err != nil {
			return err
		}
		accepted, err = a.accept(r, tx, operations.ServerDelete, server, nil)
		if err != nil || accepted.Meeting == operations.Join {
			return err
		}
		return compute.SetTask(r.Context(), tx, server.ID, servers.TaskDeleting)
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
