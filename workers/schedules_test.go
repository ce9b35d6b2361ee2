package workers_test

// Schedules on a real Temporal server.

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast.dev/workers"
	"holdfast.dev/workflows/maintenance"
)

// The table is what is there after a start, whatever was there before; what
// isn't ours is left alone.
func TestSchedulesAreCorrected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	_, err := s.client.ScheduleClient().Create(ctx, client.ScheduleOptions{ID: "an operator's", Action: &client.ScheduleWorkflowAction{Workflow: "x", TaskQueue: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	intervals := func() map[string]time.Duration {
		found := map[string]time.Duration{}
		all, err := s.client.ScheduleClient().List(ctx, client.ScheduleListOptions{})
		for err == nil && all.HasNext() {
			var e *client.ScheduleListEntry
			if e, err = all.Next(); err != nil {
				break
			}
			described, gone := s.client.ScheduleClient().GetHandle(ctx, e.ID).Describe(ctx)
			if gone != nil {
				continue
			}
			found[e.ID] = 0
			for _, i := range described.Schedule.Spec.Intervals {
				found[e.ID] = i.Every
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	const sync, purge = "holdfast/" + maintenance.SyncPowerName, "holdfast/" + maintenance.PurgeName
	for _, c := range []struct {
		table []workers.Schedule
		want  map[string]time.Duration
	}{
		{[]workers.Schedule{{maintenance.SyncPowerName, time.Hour}, {maintenance.PurgeName, 2 * time.Hour}}, map[string]time.Duration{sync: time.Hour, purge: 2 * time.Hour}},
		{[]workers.Schedule{{maintenance.SyncPowerName, 10 * time.Minute}, {maintenance.PurgeName, 2 * time.Hour}}, map[string]time.Duration{sync: 10 * time.Minute, purge: 2 * time.Hour}},
		{[]workers.Schedule{{maintenance.SyncPowerName, 10 * time.Minute}, {maintenance.PurgeName, 0}}, map[string]time.Duration{sync: 10 * time.Minute}},
		{nil, map[string]time.Duration{}},
	} {
		c.want["an operator's"] = 0
		// Lists are behind for a moment, so what is deleted may need a second start.
		s.wait(t, "the schedules of the table", func() bool {
			workers.Schedules(s.client, c.table, slog.New(slog.DiscardHandler))(ctx)
			got := intervals()
			if len(got) != len(c.want) {
				return false
			}
			for id, every := range c.want {
				if got[id] != every {
					return false
				}
			}
			return true
		})
	}
}

// A guest that went off by itself is found by the schedule, and its server is
// stopped by an operation.
func TestScheduledPowerSync(t *testing.T) {
	t.Parallel()
	c, dir := newCloud(t), t.TempDir()
	c.host(t, "h1", dir)
	id := c.build(t)
	c.eventually(t, "active", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT vm_state = 'active' AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	// To make its row wrong is as good as to make its guest go off.
	if _, err := c.db.Pool.Exec(t.Context(), `UPDATE compute.servers SET vm_state = 'stopped', power_state = 4, updated_at = now() - interval '1 h' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	workers.Schedules(c.hosts.Client, []workers.Schedule{{maintenance.SyncPowerName, time.Second}}, slog.New(slog.DiscardHandler))(t.Context())
	c.eventually(t, "the guest is stopped", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT EXISTS (SELECT FROM engine.operations WHERE resource_id = $1 AND kind = 'server.stop' AND result = 'done')`, id)
	})
	if got := guests(t, dir); len(got) != 1 || got[0].PowerState != 4 {
		t.Errorf("guests %+v, want the one, off", got)
	}
	c.silent(t)
}
