package orchestration

// Trusts: users let us act for them when their stacks need that.

import (
	"context"
	"errors"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// Trusts has users trust us. Errors: Unavailable, and whatever keeps a user from it.
type Trusts interface {
	CreateTrust(ctx context.Context, who identity.Identity, roles ...string) (id string, err error)
	DeleteTrust(ctx context.Context, id string) error
}

// trust has the caller let us make the resources of a stack, if it has any that
// are outside and there is no such trust. One whose stack doesn't come to be is
// ended by the control worker.
func (a *API) trust(r *rest.Request, s *orchestration.Stack, d *stacks.Definition) error {
	if a.Trusts == nil || !d.Outside() {
		return nil
	}
	has, err := orchestration.TrustOf(r.Context(), a.DB.Pool, s.ID)
	if err != nil || has != "" {
		return err
	}
	id, err := a.Trusts.CreateTrust(r.Context(), r.Identity)
	if err != nil {
		return err
	}
	if err := orchestration.InsertTrust(r.Context(), a.DB.Pool, s.ID, id); err != nil {
		return errors.Join(err, a.Trusts.DeleteTrust(context.WithoutCancel(r.Context()), id))
	}
	return nil
}
