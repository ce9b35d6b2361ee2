package maintenance

import (
	"testing"
	"time"
)

// What was shelved long enough ago leaves its host, once; without a time, or one
// that is endless, nothing does.
func TestOffloadShelved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := func(vm, age string) string {
		id := w.server(vm, 4)
		w.exec(`UPDATE compute.servers SET shelved_at = now() - $2::interval WHERE id = $1`, id, age)
		return id
	}
	old := since("shelved", "61 min")
	since("shelved", "59 min")
	since("shelved_offloaded", "61 min")
	for _, row := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {-time.Second, 0}, {time.Hour, 1}, {time.Hour, 0}} {
		w.o.OffloadAfter = row.after
		if out, err := w.OffloadShelved(t.Context(), struct{}{}); err != nil || out.Changed != row.want || out.More {
			t.Errorf("%+v: %+v, %v", row, out, err)
		}
	}
	var kind, task string
	err := w.db.Pool.QueryRow(t.Context(), `SELECT o.kind, s.task_state FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, old).
		Scan(&kind, &task)
	if err != nil || kind != "server.shelve-offload" || task != "shelving_offloading" || len(w.offered) != 1 {
		t.Errorf("%s, task %q, offered %v (%v)", kind, task, w.offered, err)
	}
}
