package maintenance

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type world struct {
	*testing.T
	*Activities
	host    string
	offered []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db := computetest.Open(t)
	w := &world{T: t, host: computetest.AddHost(t, db, "h", computetest.Room)}
	w.Activities = New(db, engine.New(db, compute.Resource()), Options{DownAfter: time.Minute,
		KeepServers: 24 * time.Hour, KeepOperations: 48 * time.Hour, Offer: func(id string) { w.offered = append(w.offered, id) }})
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Pool.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// server is one on the host, in a state that is a minute old.
func (w *world) server(vm string, power int) string {
	w.Helper()
	s := computetest.AddServer(w.T, w.db, "p")
	w.exec(`UPDATE compute.servers SET vm_state = $2, power_state = $3, task_state = NULL, host_id = $4, updated_at = now() - interval '1 min' WHERE id = $1`,
		s.ID, vm, power, w.host)
	return s.ID
}

// What a host reports of a guest's power becomes the row's, and what can't stay
// so is stopped (nova/compute/manager.py, _sync_instance_power_state).
func TestSyncPower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vm            string
		row, reported int
		power         int
		stops         bool
	}{
		{"active", 1, 1, 1, false},
		{"active", 1, 4, 4, true},
		{"active", 1, 6, 6, true},
		{"active", 4, 4, 4, true}, // known already, and not resolved yet
		{"active", 1, 3, 3, false},
		{"active", 1, 0, 0, false},
		{"stopped", 4, 1, 1, true},
		{"stopped", 4, 4, 4, false},
		{"stopped", 4, 0, 0, false},
		{"paused", 3, 4, 4, true},
		{"paused", 3, 1, 1, false},
		{"suspended", 4, 7, 4, false}, // its memory is saved
		{"suspended", 7, 4, 4, false},
		// A suspend that was done and could not be told so, before or after its power is known.
		{"active", 1, 7, 4, false},
		{"active", 4, 7, 4, false},
		{"error", 1, 4, 4, false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.server(c.vm, c.row)
			vm := c.vm
			if c.reported == 7 {
				vm = "suspended"
			}
			w.exec(`UPDATE compute.hosts SET last_seen = now(), inventory = jsonb_build_object('guests',
				jsonb_build_array(jsonb_build_object('server_id', $1::text, 'power_state', $2::int)))`, id, c.reported)
			for range 2 { // the second time there is nothing to do
				if _, err := w.SyncPower(t.Context(), struct{}{}); err != nil {
					t.Fatal(err)
				}
			}
			s, err := compute.GetServer(t.Context(), w.db.Pool, "", id)
			if err != nil || int(s.PowerState) != c.power || string(s.VMState) != vm {
				t.Errorf("%s, power %d, %v, want %s, %d", s.VMState, s.PowerState, err, vm, c.power)
			}
			if (s.OperationID != "") != c.stops || len(w.offered) > 1 || c.stops && (len(w.offered) != 1 || w.offered[0] != s.OperationID || s.TaskState != "powering-off") {
				t.Errorf("held by %q, offered %v, task %q, want a stop: %v", s.OperationID, w.offered, s.TaskState, c.stops)
			}
		})
	}
}

// What proves nothing changes nothing.
func TestSyncPowerLeavesAlone(t *testing.T) {
	t.Parallel()
	for name, but := range map[string]string{
		"a host that is down":           `UPDATE compute.hosts SET last_seen = now() - interval '5 min' WHERE $1::uuid IS NOT NULL`,
		"a host declared down":          `UPDATE compute.hosts SET forced_down = true WHERE $1::uuid IS NOT NULL`,
		"a row younger than the report": `UPDATE compute.servers SET updated_at = now() WHERE id = $1`,
		"a guest of another host":       `UPDATE compute.servers SET host_id = NULL WHERE id = $1`,
		"a deleted server":              `UPDATE compute.servers SET deleted_at = now(), host_id = NULL WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.server("active", 1)
			w.exec(`UPDATE compute.hosts SET last_seen = now(), inventory = jsonb_build_object('guests',
				jsonb_build_array(jsonb_build_object('server_id', $1::text, 'power_state', 4)))`, id)
			w.exec(but, id)
			if out, err := w.SyncPower(t.Context(), struct{}{}); err != nil || out.Changed != 0 || out.More || len(w.offered) != 0 {
				t.Errorf("%+v, %v, offered %v", out, err, w.offered)
			}
		})
	}
}

// operation is a finished one of a server.
func (w *world) operation(server string, age time.Duration, retryOf string) string {
	w.Helper()
	id := operations.NewID(operations.ServerStop, server, time.Now())
	w.exec(`INSERT INTO engine.operations (id, kind, resource_type, resource_id, deadline, finished_at, result, retry_of)
		VALUES ($1, 'server.stop', 'server', $2, now(), now() - $3::interval, 'done', NULLIF($4, ''))`, id, server, age, retryOf)
	w.exec(`INSERT INTO engine.operation_events (operation_id, seq, step) VALUES ($1, 1, 'guest')`, id)
	w.exec(`INSERT INTO engine.operation_effects (operation_id, seq, kind, ref, generation, state) VALUES ($1, 1, 'guest', $2, 1, 'passed')`, id, server)
	return id
}

// Purge deletes what is older than the configuration keeps, and nothing that
// somebody still needs.
func TestPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const day = 24 * time.Hour
	alive := w.server("active", 1)
	gone, fresh, owing := w.server("deleted", 0), w.server("deleted", 0), w.server("deleted", 0)
	w.exec(`UPDATE compute.servers SET deleted_at = now() - interval '30 h', host_id = NULL WHERE id IN ($1, $2)`, gone, owing)
	w.exec(`UPDATE compute.servers SET deleted_at = now() - interval '20 h', host_id = NULL WHERE id = $1`, fresh)
	first := w.operation(alive, 3*day, "")
	second := w.operation(alive, 3*day, first)
	keep := map[string]string{
		"young, of one that lives":      w.operation(alive, 1*day, ""),
		"of one deleted lately":         w.operation(fresh, 30*time.Hour, ""),
		"that owes":                     w.operation(owing, 9*day, ""),
		"of one gone, and itself young": w.operation(gone, time.Hour, ""),
	}
	w.exec(`UPDATE engine.operation_effects SET state = 'owed', host = 'h' WHERE operation_id = $1`, keep["that owes"])
	old := []string{first, second, w.operation(gone, 25*time.Hour, "")}
	w.exec(`INSERT INTO engine.operation_inbox (resource_type, resource_id, event, sender_key, received_at) VALUES ('server', $1, 'x', 'old', now() - interval '3 d'), ('server', $1, 'x', 'new', now())`, alive)
	w.exec(`INSERT INTO engine.operation_inbox (resource_type, resource_id, event, sender_key, received_at) VALUES ('server', $1, 'x', 'old', now() - interval '2 d')`, uuid.NewString())

	parts := 0
	for more := true; more; parts++ {
		out, err := w.Purge(t.Context(), struct{}{})
		if err != nil || parts > 10 {
			t.Fatalf("part %d: %+v, %v", parts, out, err)
		}
		more = out.More
	}
	there := func(sql string, args ...any) (is bool) {
		t.Helper()
		if err := w.db.Pool.QueryRow(t.Context(), `SELECT EXISTS (`+sql+`)`, args...).Scan(&is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, id := range old {
		if there(`SELECT FROM engine.operations WHERE id = $1`, id) || there(`SELECT FROM engine.operation_events WHERE operation_id = $1`, id) {
			t.Errorf("%s is still there", id)
		}
	}
	for what, id := range keep {
		if !there(`SELECT FROM engine.operations WHERE id = $1`, id) {
			t.Errorf("the operation %s is gone", what)
		}
	}
	for id, want := range map[string]bool{alive: true, gone: false, fresh: true, owing: true} {
		if there(`SELECT FROM compute.servers WHERE id = $1`, id) != want {
			t.Errorf("server %s: there must be %v", id, want)
		}
	}
	if there(`SELECT FROM engine.operation_inbox WHERE sender_key = 'old'`) || !there(`SELECT FROM engine.operation_inbox WHERE sender_key = 'new'`) {
		t.Error("the inbox keeps what is old, or loses what is new")
	}
	// With 0 everything is kept for ever.
	w.o.KeepServers, w.o.KeepOperations = 0, 0
	w.exec(`UPDATE engine.operations SET finished_at = now() - interval '9 y'`)
	if out, err := w.Purge(t.Context(), struct{}{}); err != nil || out.Changed != 0 || out.More {
		t.Errorf("with nothing to purge: %+v, %v", out, err)
	}
}
