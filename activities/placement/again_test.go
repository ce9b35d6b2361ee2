package placement_test

import (
	"context"
	"testing"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/placement"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// act does a step.
type act func(context.Context, *placement.Activities) (any, error)

// acts has a row per step: what it is for a server whose build has begun.
var acts = map[string]func(*world, steps.Fence) act{
	"placement.Claim": func(_ *world, f steps.Fence) act {
		return func(ctx context.Context, p *placement.Activities) (any, error) {
			return p.Claim(ctx, steps.ClaimIn{Fence: f, Attempt: 1})
		}
	},
	"placement.ClaimMove": func(w *world, f steps.Fence) act {
		w.moving(f)
		return func(ctx context.Context, p *placement.Activities) (any, error) {
			return p.ClaimMove(ctx, steps.MoveClaimIn{Fence: f, Attempt: 1})
		}
	},
	"placement.HandBack": func(w *world, f steps.Fence) act {
		w.moving(f)
		if _, err := w.placement.ClaimMove(w.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1}); err != nil {
			w.Fatal(err)
		}
		return func(ctx context.Context, p *placement.Activities) (any, error) {
			return p.HandBack(ctx, steps.HandBackIn{Fence: f, Seq: 1})
		}
	},
	"placement.Release": func(w *world, f steps.Fence) act {
		w.mustClaim(f, 1)
		return func(ctx context.Context, p *placement.Activities) (any, error) {
			return p.Release(ctx, steps.ReleaseIn{Fence: f, Seq: 1})
		}
	},
}

// Every step, done twice and killed at each of its round trips.
func TestAgain(t *testing.T) {
	t.Parallel()
	var proven []string
	for name, in := range acts {
		proven = append(proven, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			activitytest.InDatabase(t, func(t *testing.T) activitytest.Act {
				w := newWorld(t)
				computetest.AddHost(t, w.db, "h", computetest.Room)
				_, f := w.building()
				do := in(w, f)
				return activitytest.Act{DB: w.db, Do: func(ctx context.Context, db *store.DB) (any, error) {
					return do(ctx, placement.New(db, engine.New(db, compute.Resource()), scheduler.Default()))
				}, Done: func(t *testing.T) { computetest.CheckSums(t, w.db) }}
			})
		})
	}
	activitytest.Covers(t, "placement", proven...)
}
