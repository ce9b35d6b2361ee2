package compute

// The actions lock and unlock: whether users may act on a server.

import (
	"encoding/json"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	policyLock   = "os_compute_api:os-lock-server:lock"
	policyUnlock = "os_compute_api:os-lock-server:unlock"
	// policyUnlockOverride is for locks of others.
	policyUnlockOverride = "os_compute_api:os-lock-server:unlock:unlock_override"
)

// locker is what the caller is to the server: its owner, or an administrator of
// another project.
func locker(r *rest.Request, s *compute.Server) string {
	if s.ProjectID == r.Identity.ProjectID {
		return "owner"
	}
	return "admin"
}

// lockServer locks; a lock of one's own that is there already stays as it is.
func (a *API) lockServer(r *rest.Request) (*rest.Response, error) {
	reason, err := lockedReason(r)
	if err != nil {
		return nil, err
	}
	return nil, a.onServer(r, policyLock, func(tx store.Tx, server *compute.Server) error {
		by := locker(r, server)
		if server.Locked && by == "owner" {
			return nil
		}
		if err := compute.LockForUsers(r.Context(), tx, server.ID, by, reason); err != nil {
			return err
		}
		return record(r, tx, server, "lock")
	})
}

// lockedReason reads why, which may be said from 2.73 on.
func lockedReason(r *rest.Request) (*string, error) {
	body, err := r.Object()
	if err != nil || string(body["lock"]) == "null" || !r.Has(73) {
		return nil, err
	}
	var asked struct {
		Reason *string `json:"locked_reason"`
	}
	if err := json.Unmarshal(body["lock"], &asked); err != nil {
		return nil, notOfType("lock", body["lock"], "object', 'null")
	}
	return asked.Reason, nil
}

func (a *API) unlockServer(r *rest.Request) (*rest.Response, error) {
	return nil, a.onServer(r, policyUnlock, func(tx store.Tx, server *compute.Server) error {
		if server.LockedBy != nil && *server.LockedBy != locker(r, server) {
			if err := r.Enforce(policyUnlockOverride, serverTarget(server)); err != nil {
				return err
			}
		}
		if err := compute.LockForUsers(r.Context(), tx, server.ID, "", nil); err != nil {
			return err
		}
		return record(r, tx, server, "unlock")
	})
}

// record notes an action that ends with its request.
func record(r *rest.Request, tx store.Tx, s *compute.Server, action string) error {
	return compute.RecordAction(r.Context(), tx, compute.ServerAction{
		ServerID: s.ID, RequestID: r.ID, Action: action, ProjectID: r.Identity.ProjectID, UserID: r.Identity.UserID,
	})
}
