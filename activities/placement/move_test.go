package placement_test

import (
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// moving puts the server of an operation on a host of its own, "home", which a
// live migration is to take it away from. It gives the host and the migration.
func (w *world) moving(f steps.Fence) (home, migration string) {
	w.Helper()
	home = computetest.AddHost(w, w.db, "home", computetest.Room)
	_, serverID, _, _ := operations.ParseID(f.OperationID)
	computetest.InTx(w, w.db, func(tx store.Tx) error {
		if _, err := tx.Exec(w.Context(), `UPDATE compute.servers SET host_id = $2, vm_state = 'active' WHERE id = $1`, serverID, home); err != nil {
			return err
		}
		server, err := compute.GetServer(w.Context(), tx, "", serverID)
		if err != nil {
			return err
		}
		if _, err := compute.ClaimOnHost(w.Context(), tx, serverID, home, f.OperationID, compute.Claim{Room: server.Size()}); err != nil {
			return err
		}
		m := &compute.Migration{OperationID: f.OperationID, Type: servers.LiveMigration, Status: servers.MigrationAccepted,
			New: server.Flavor, NewRoom: server.Size()}
		err = compute.StartMigration(w.Context(), tx, server, m)
		migration = m.UUID
		return err
	})
	return home, migration
}

// claims are who has room, by host.
func (w *world) claims() map[string]string {
	w.Helper()
	rows, err := w.db.Pool.Query(w.Context(), `SELECT host_id::text, consumer_id::text FROM compute.allocations`)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var host, consumer string
		if err := rows.Scan(&host, &consumer); err != nil {
			w.Fatal(err)
		}
		found[host] = consumer
	}
	return found
}

// A server that moves has room where it goes, and its migration what it had; the
// undo gives both back.
func TestAMoveKeepsBothClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, f := w.building()
	home, migration := w.moving(f)
	host := computetest.AddHost(t, w.db, "h", computetest.Room)
	out, err := w.placement.ClaimMove(t.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1})
	if err != nil || out.HostID != host || len(out.Effects) != 2 {
		t.Fatalf("claimed %+v, %v", out, err)
	}
	if got := w.claims(); len(got) != 2 || got[host] != s.ID || got[home] != migration {
		t.Errorf("the room is %v", got)
	}
	w.undo(f, 2)
	if _, err := w.placement.HandBack(t.Context(), steps.HandBackIn{Fence: f, Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if got := w.claims(); len(got) != 1 || got[home] != s.ID {
		t.Errorf("after the undo the room is %v", got)
	}
	computetest.CheckSums(t, w.db)
}

// A guest leaves no host that is down while it runs: one that was declared down, or
// has been silent for long. That a host is silent is not yet believed by a process
// that has only begun to listen.
func TestALiveMigrationFromAHostThatIsDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host, code string
		young      bool
	}{
		"declared down":       {host: "forced_down = true", code: "ComputeServiceUnavailable"},
		"declared down, anew": {host: "forced_down = true", young: true, code: "ComputeServiceUnavailable"},
		"silent":              {host: "last_seen = now() - interval '1 day'", code: "ComputeServiceUnavailable"},
		"silent, anew":        {host: "last_seen = now() - interval '1 day'", young: true, code: "HostsUnheard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, f := w.building()
			home, _ := w.moving(f)
			computetest.AddHost(t, w.db, "h", computetest.Room)
			if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET `+c.host+` WHERE id = $1`, home); err != nil {
				t.Fatal(err)
			}
			if c.young {
				w.placement.Since = time.Now()
			}
			_, err := w.placement.ClaimMove(t.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1})
			if err == nil || faults.As(err).Code != c.code {
				t.Errorf("%v, want %s", err, c.code)
			}
			if got := w.claims(); len(got) != 1 || got[home] != s.ID {
				t.Errorf("the room is %v", got)
			}
		})
	}
}

// A host that was asked for is the one, or there is none.
func TestWhereAMoveGoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   steps.MoveClaimIn
		code string
	}{
		"asked for":         {in: steps.MoveClaimIn{Host: "second"}},
		"forced":            {in: steps.MoveClaimIn{Host: "second", Force: true}},
		"its own":           {in: steps.MoveClaimIn{Host: "home"}, code: "UnableToMigrateToSelf"},
		"its own by force":  {in: steps.MoveClaimIn{Host: "home", Force: true}, code: "UnableToMigrateToSelf"},
		"full":              {in: steps.MoveClaimIn{Host: "small"}, code: "NoValidHost"},
		"full, by force":    {in: steps.MoveClaimIn{Host: "small", Force: true}, code: "NoValidHost"},
		"none of that name": {in: steps.MoveClaimIn{Host: "nowhere", Force: true}, code: "NoValidHost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, f := w.building()
			home, _ := w.moving(f)
			computetest.AddHost(t, w.db, "first", computetest.Room)
			second := computetest.AddHost(t, w.db, "second", computetest.Room)
			computetest.AddHost(t, w.db, "small", compute.Report{VCPUs: 1, MemoryMB: 513, DiskGB: 1})
			c.in.Fence, c.in.Attempt = f, 1
			out, err := w.placement.ClaimMove(t.Context(), c.in)
			switch {
			case c.code == "" && (err != nil || out.HostID != second):
				t.Errorf("claimed %+v, %v", out, err)
			case c.code != "" && (err == nil || faults.As(err).Code != c.code):
				t.Errorf("claimed %+v, %v, want %s", out, err, c.code)
			case c.code != "":
				if got := w.claims(); len(got) != 1 || got[home] == "" {
					t.Errorf("the room is %v", got)
				}
			}
			computetest.CheckSums(t, w.db)
		})
	}
}

// A server on a node doesn't leave it, and none comes to one that it wasn't built on.
func TestNothingMovesFromOrToANode(t *testing.T) {
	t.Parallel()
	for _, from := range []bool{true, false} {
		w := newWorld(t)
		_, f := w.building()
		home, _ := w.moving(f)
		node := computetest.AddHost(t, w.db, "other", computetest.Room)
		if from {
			node = home
		}
		if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET driver = $2 WHERE id = $1`, node, compute.DriverIronic); err != nil {
			t.Fatal(err)
		}
		_, err := w.placement.ClaimMove(t.Context(), steps.MoveClaimIn{Fence: f, Attempt: 1})
		if err == nil || faults.As(err).Code != steps.CodeNotSupported {
			t.Errorf("from a node %v: %v", from, err)
		}
		if got := w.claims(); len(got) != 1 || got[home] == "" {
			t.Errorf("from a node %v: the room is %v", from, got)
		}
		computetest.CheckSums(t, w.db)
	}
}
