package orchestration

// Trusts: users let us act for them when their stacks need that.

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// Trusts has users trust us. Errors: Unavailable, and whatever keeps a user from it.
type Trusts interface {
	CreateTrust(ctx context.Context, who identity.Identity, goodUntil time.Time, roles ...string) (id string, err error)
	DeleteTrust(ctx context.Context, id string) error
}

// trust has the caller let us make the resources of a stack, if it has any that
// are outside and there is no such trust. It gives what ends that again if the
// request is refused, and gives that refusal; one of which nobody knows whether it was
// given, or whether its stack comes to be, is ended by the control worker.
func (a *API) trust(r *rest.Request, s *orchestration.Stack, d *stacks.Definition) (refuse func(error) error, err error) {
	refuse = func(why error) error { return why }
	if a.Trusts == nil || !d.Outside() {
		return refuse, nil
	}
	has, err := orchestration.TrustOf(r.Context(), a.DB.Pool, s.ID)
	if err != nil || has != "" {
		return refuse, err
	}
	goodUntil, err := orchestration.AskTrust(r.Context(), a.DB.Pool, r.Identity.UserID)
	if err != nil {
		return nil, err
	}
	id, err := a.Trusts.CreateTrust(r.Context(), r.Identity, goodUntil)
	if err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	if err := orchestration.InsertTrust(r.Context(), a.DB.Pool, s.ID, id, goodUntil); err != nil {
		return nil, errors.Join(err, a.Trusts.DeleteTrust(ctx, id))
	}
	return func(why error) error {
		if faults.As(why).Kind == faults.Unavailable {
			return why
		}
		return errors.Join(why, orchestration.EndTrust(ctx, a.DB.Pool, id))
	}, nil
}
