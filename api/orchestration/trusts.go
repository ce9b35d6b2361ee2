package orchestration

// Trusts: users let us act for them when their stacks need that.

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Trusts has users trust us. Errors: Unavailable, and whatever keeps a user from it.
type Trusts interface {
	CreateTrust(ctx context.Context, who identity.Identity, goodUntil time.Time, roles ...string) (id string, err error)
	DeleteTrust(ctx context.Context, id string) error
}

// trust has the caller let us make the resources of a stack, if it has any that are
// outside, or another user has let us until now. It gives the trust; empty is none, since
// there is one of the caller or none is needed. One of which nobody knows whether it was
// given, or whether its stack comes to be, is ended by the control worker.
func (a *API) trust(r *rest.Request, s *orchestration.Stack, outside bool) (id string, err error) {
	if a.Trusts == nil {
		return "", nil
	}
	has, by, err := orchestration.TrustOf(r.Context(), a.DB.Pool, s.ID)
	if err != nil || has == "" && !outside || has != "" && by == r.Identity.UserID {
		return "", err
	}
	goodUntil, err := orchestration.AskTrust(r.Context(), a.DB.Pool, r.Identity.UserID)
	if err != nil {
		return "", err
	}
	if id, err = a.Trusts.CreateTrust(r.Context(), r.Identity, goodUntil); err != nil {
		return "", err
	}
	if err := orchestration.InsertTrust(r.Context(), a.DB.Pool, s.ID, id, goodUntil); err != nil {
		return "", errors.Join(err, a.Trusts.DeleteTrust(context.WithoutCancel(r.Context()), id))
	}
	return id, nil
}

// giveBack ends a trust that was given for a request that is refused, and gives why it is.
func (a *API) giveBack(r *rest.Request, trust string, why error) error {
	if trust == "" || faults.As(why).Kind == faults.Unavailable {
		return why
	}
	return errors.Join(why, orchestration.EndTrust(context.WithoutCancel(r.Context()), a.DB.Pool, trust))
}

// beginTrusted is begin of what acts for the caller from then on, and no more for who has
// asked for something before. Whether there will be something outside is what outside
// says.
func (a *API) beginTrusted(r *rest.Request, s *orchestration.Stack, outside bool, do func(store.Tx, *orchestration.Stack) (engine.Accepted, error)) error {
	trust, err := a.trust(r, s, outside)
	if err != nil {
		return err
	}
	err = a.begin(r, s, func(tx store.Tx, locked *orchestration.Stack) (engine.Accepted, error) {
		accepted, err := do(tx, locked)
		if err == nil && trust != "" {
			err = orchestration.EndTrustsBefore(r.Context(), tx, s.ID, trust)
		}
		return accepted, err
	})
	if err != nil {
		return a.giveBack(r, trust, err)
	}
	return nil
}
