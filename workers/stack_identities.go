package workers

// Trusts and projects of users that are ended when their stacks are gone.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// StackIdentities ends what Keystone knows of stacks that are deleted: trusts, also
// those of stacks that never came to be, and projects of users.
type StackIdentities struct {
	DB *store.DB
	// EndTrust ends a trust, EndProject takes a project away, by its name where its id
	// is empty; one that is gone is no error. A nil one leaves them for later.
	// EndTrustUntil ends the one of a user that is good until a time.
	EndTrust      func(ctx context.Context, id string) error
	EndTrustUntil func(ctx context.Context, trustorID string, goodUntil time.Time) error
	EndProject    func(ctx context.Context, name, id string) error
	// Unborn is how long a stack may take to be there after its trust, and a trust after
	// it was asked for: longer than any request.
	Unborn time.Duration
	Log    *slog.Logger
}

// identitiesEvery is how often it is looked for such things.
const identitiesEvery = 5 * time.Second

// Run looks until ctx ends.
func (i StackIdentities) Run(ctx context.Context) {
	tick := time.NewTicker(identitiesEvery)
	defer tick.Stop()
	for {
		if err := i.Once(ctx); err != nil && ctx.Err() == nil {
			i.Log.Warn("what Keystone knows of deleted stacks can't be ended yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Once ends what is to be ended now. What has ended is forgotten.
func (i StackIdentities) Once(ctx context.Context) error {
	return errors.Join(i.trusts(ctx), i.unheard(ctx), i.projects(ctx))
}

func (i StackIdentities) trusts(ctx context.Context) error {
	if i.EndTrust == nil {
		return nil
	}
	ids, err := orchestration.TrustsToEnd(ctx, i.DB.Pool, i.Unborn)
	for _, id := range ids {
		one := i.EndTrust(ctx, id)
		if one == nil {
			one = orchestration.DeleteTrust(ctx, i.DB.Pool, id)
		}
		err = errors.Join(err, one)
	}
	return err
}

// unheard ends trusts of which nobody has heard whether they were given.
func (i StackIdentities) unheard(ctx context.Context) error {
	if i.EndTrustUntil == nil {
		return nil
	}
	all, err := orchestration.TrustsUnheard(ctx, i.DB.Pool, i.Unborn)
	for _, asked := range all {
		one := i.EndTrustUntil(ctx, asked.TrustorID, asked.GoodUntil)
		if one == nil {
			one = orchestration.ForgetAsked(ctx, i.DB.Pool, asked.GoodUntil)
		}
		err = errors.Join(err, one)
	}
	return err
}

func (i StackIdentities) projects(ctx context.Context) error {
	if i.EndProject == nil {
		return nil
	}
	all, err := orchestration.UserProjectsToEnd(ctx, i.DB.Pool)
	for _, p := range all {
		one := i.EndProject(ctx, p.Name, p.ID)
		if one == nil {
			one = orchestration.DeleteUserProject(ctx, i.DB.Pool, p.StackID)
		}
		err = errors.Join(err, one)
	}
	return err
}
