package maintenance

import (
	"testing"
	"time"
)

// moved is a server with a move that came to a status as long as age ago.
func (w *world) moved(vm, status, age string) string {
	w.Helper()
	id := w.server(vm, 1)
	w.exec(`INSERT INTO compute.migrations (uuid, server_id, project_id, user_id, operation_id, migration_type, status, source_host_id, source_host,
			old_flavor, new_flavor, old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state, updated_at)
		SELECT gen_random_uuid(), id, project_id, user_id, 'server/x/resize/x', 'resize', $2, host_id, 'old',
			flavor, flavor, 1, 1, 1, 1, 1, 1, 'active', now() - $3::interval
		FROM compute.servers WHERE id = $1`, id, status, age)
	return id
}

// What was resized long enough ago is confirmed, once; without a time nothing is,
// nor what somebody else ends.
func TestConfirmResized(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.moved("resized", "finished", "61 min")
	w.moved("resized", "finished", "59 min")
	w.moved("resized", "reverting", "61 min")
	w.moved("active", "finished", "61 min")
	for _, row := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {time.Hour, 1}, {time.Hour, 0}} {
		w.o.ConfirmAfter = row.after
		if out, err := w.ConfirmResized(t.Context(), struct{}{}); err != nil || out.Changed != row.want || out.More {
			t.Errorf("%+v: %+v, %v", row, out, err)
		}
	}
	var kind, task, status string
	err := w.db.Pool.QueryRow(t.Context(), `SELECT o.kind, COALESCE(s.task_state, '-'), m.status FROM compute.servers s
		JOIN engine.operations o ON o.id = s.operation_id JOIN compute.migrations m ON m.server_id = s.id WHERE s.id = $1`, old).
		Scan(&kind, &task, &status)
	if err != nil || kind != "server.confirm-resize" || task != "-" || status != "confirming" || len(w.offered) != 1 {
		t.Errorf("%s, task %q, migration %s, offered %v (%v)", kind, task, status, w.offered, err)
	}
}
