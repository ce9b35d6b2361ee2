package maintenance

import (
	"context"
	"testing"
	"time"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// act does a step.
type act func(context.Context, *Activities) (steps.MaintenanceOut, error)

// acts has a row per step: what it finds to do in a world.
var acts = map[string]func(*world) act{
	"maintenance.SyncPower": func(w *world) act {
		off, on := w.server("active", 1), w.server("stopped", 4)
		w.exec(`UPDATE compute.hosts SET last_seen = now(), inventory = jsonb_build_object('guests', jsonb_build_array(
			jsonb_build_object('server_id', $1::text, 'power_state', 4), jsonb_build_object('server_id', $2::text, 'power_state', 1)))`, off, on)
		return func(ctx context.Context, a *Activities) (steps.MaintenanceOut, error) {
			return a.SyncPower(ctx, struct{}{})
		}
	},
	"maintenance.Reclaim": func(w *world) act {
		w.o.ReclaimAfter = time.Hour
		w.exec(`UPDATE compute.servers SET soft_deleted_at = now() - interval '2 h' WHERE id = $1`, w.server("soft-delete", 4))
		return func(ctx context.Context, a *Activities) (steps.MaintenanceOut, error) {
			return a.Reclaim(ctx, struct{}{})
		}
	},
	"maintenance.OffloadShelved": func(w *world) act {
		w.o.OffloadAfter = time.Hour
		w.exec(`UPDATE compute.servers SET shelved_at = now() - interval '2 h' WHERE id = $1`, w.server("shelved", 4))
		return func(ctx context.Context, a *Activities) (steps.MaintenanceOut, error) {
			return a.OffloadShelved(ctx, struct{}{})
		}
	},
	"maintenance.ConfirmResized": func(w *world) act {
		w.o.ConfirmAfter = time.Hour
		w.moved("resized", "finished", "2 h")
		return func(ctx context.Context, a *Activities) (steps.MaintenanceOut, error) {
			return a.ConfirmResized(ctx, struct{}{})
		}
	},
	"maintenance.NodePages": func(*world) act {
		return func(ctx context.Context, a *Activities) (steps.MaintenanceOut, error) {
			out, err := a.NodePages(ctx, steps.NodePagesIn{})
			return steps.MaintenanceOut{Changed: len(out.Pages)}, err
		}
	},
	"maintenance.Purge": func(w *world) act {
		gone := w.server("deleted", 0)
		w.exec(`UPDATE compute.servers SET deleted_at = now() - interval '30 h', host_id = NULL WHERE id = $1`, gone)
		w.operation(gone, 72*time.Hour, "")
		w.operation(w.server("active", 1), 72*time.Hour, "")
		return func(ctx context.Context, a *Activities) (steps.MaintenanceOut, error) {
			return a.Purge(ctx, struct{}{})
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
				do := in(w)
				return activitytest.Act{DB: w.db, Parts: true,
					Do: func(ctx context.Context, db *store.DB) (any, error) {
						o := w.o
						o.Offer = func(string) {}
						return do(ctx, New(db, engine.New(db, compute.Resource()), o))
					},
					Done: func(t *testing.T) {
						if out, err := do(t.Context(), w.Activities); err != nil || out != (steps.MaintenanceOut{}) {
							t.Errorf("there is more to do: %+v, %v", out, err)
						}
					}}
			})
		})
	}
	activitytest.Covers(t, "maintenance", proven...)
}
