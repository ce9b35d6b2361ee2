package maintenance

import (
	"testing"
	"time"
)

// What was soft-deleted long enough ago is deleted, once; all else stays.
func TestReclaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.o.ReclaimAfter = time.Hour
	since := func(vm, age string) string {
		id := w.server(vm, 4)
		w.exec(`UPDATE compute.servers SET soft_deleted_at = now() - $2::interval WHERE id = $1`, id, age)
		return id
	}
	old := since("soft-delete", "61 min")
	since("soft-delete", "59 min")
	w.server("active", 1)
	for _, want := range []int{1, 0} {
		if out, err := w.Reclaim(t.Context(), struct{}{}); err != nil || out.Changed != want || out.More {
			t.Errorf("%+v, %v, want %d", out, err, want)
		}
	}
	var kind, task string
	err := w.db.Pool.QueryRow(t.Context(), `SELECT o.kind, s.task_state FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, old).
		Scan(&kind, &task)
	if err != nil || kind != "server.delete" || task != "deleting" || len(w.offered) != 1 {
		t.Errorf("%s, task %q, offered %v (%v)", kind, task, w.offered, err)
	}
}

// Without an interval nothing is reclaimed, and more than a part can hold takes
// several.
func TestReclaimHasBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO compute.quota_limits (project_id, resource, hard_limit) VALUES ('p', 'instances', -1), ('p', 'cores', -1), ('p', 'ram', -1)`)
	for range maxDue + 1 {
		id := w.server("soft-delete", 4)
		w.exec(`UPDATE compute.servers SET soft_deleted_at = now() - interval '2 hours' WHERE id = $1`, id)
	}
	if out, err := w.Reclaim(t.Context(), struct{}{}); err != nil || out.Changed != 0 {
		t.Errorf("without an interval: %+v, %v", out, err)
	}
	w.o.ReclaimAfter = time.Hour
	for _, want := range []int{maxDue, 1, 0} {
		if out, err := w.Reclaim(t.Context(), struct{}{}); err != nil || out.Changed != want || out.More != (want == maxDue) {
			t.Errorf("%+v, %v, want %d", out, err, want)
		}
	}
}
