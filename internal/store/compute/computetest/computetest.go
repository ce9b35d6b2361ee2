// Package computetest makes rows of the schema "compute" for tests: hosts with
// room, servers of a project. Only tests import it.
package computetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/testenv"
)

// Open gives a fresh database that is closed when the test ends.
func Open(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), testenv.Database(t), 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// Room of a host that AddHost makes, of which 512 MiB are reserved and CPUs are
// promised four times.
var Room = compute.Report{VCPUs: 8, MemoryMB: 16384 + 512, DiskGB: 200}

// AddHost registers a host that has just been heard of, with room as given.
func AddHost(t testing.TB, db *store.DB, name string, room compute.Report) string {
	t.Helper()
	id := uuid.NewString()
	InTx(t, db, func(tx store.Tx) error {
		return compute.RegisterHost(t.Context(), tx, compute.Registration{
			ID: id, Name: name, Incarnation: 1, Driver: "simulated", Report: room})
	})
	return id
}

// NewServer is a server that is about to be built: 1 CPU, 512 MiB, 1 GiB.
func NewServer(project string) *compute.Server {
	id := uuid.NewString()
	return &compute.Server{
		ID: id, ProjectID: project, UserID: "user", Name: "server " + id[:4], Hostname: "server-" + id[:4],
		Flavor: compute.Flavor{ID: "1", Name: "m1.tiny", VCPUs: 1, MemoryMB: 512, RootGB: 1, Public: true},
		VCPUs:  1, MemoryMB: 512, DiskGB: 1,
		ImageID: "cirros", VMState: servers.VMBuilding, TaskState: servers.TaskScheduling,
	}
}

// AddServer inserts NewServer, changed as asked, and charges its quota.
func AddServer(t testing.TB, db *store.DB, project string, change ...func(*compute.Server)) *compute.Server {
	t.Helper()
	s := NewServer(project)
	for _, c := range change {
		c(s)
	}
	InTx(t, db, func(tx store.Tx) error {
		if err := compute.ChargeQuota(t.Context(), tx, project, s.Delta()); err != nil {
			return err
		}
		return compute.InsertServer(t.Context(), tx, s)
	})
	return s
}

// InTx runs f in a transaction that must succeed.
func InTx(t testing.TB, db *store.DB, f func(tx store.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// CheckSums fails the test unless every host's sums are its allocations', and
// within what it can promise.
func CheckSums(t testing.TB, db *store.DB) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `
		SELECT format('%s: %s/%s/%s of %s servers, allocations say %s/%s/%s of %s', h.name,
			h.vcpus_used, h.memory_mb_used, h.disk_gb_used, h.servers, a.vcpus, a.memory_mb, a.disk_gb, a.servers)
		FROM compute.hosts h, LATERAL (
			SELECT COALESCE(sum(vcpus), 0) AS vcpus, COALESCE(sum(memory_mb), 0) AS memory_mb,
				COALESCE(sum(disk_gb), 0) AS disk_gb, count(*) AS servers
			FROM compute.allocations a WHERE a.host_id = h.id) a
		WHERE (h.vcpus_used, h.memory_mb_used, h.disk_gb_used, h.servers) <> (a.vcpus, a.memory_mb, a.disk_gb, a.servers)
			OR h.vcpus_used > GREATEST((h.vcpus - h.reserved_vcpus) * h.cpu_allocation_ratio, 0)
			OR h.memory_mb_used > GREATEST((h.memory_mb - h.reserved_memory_mb) * h.ram_allocation_ratio, 0)
			OR h.disk_gb_used > GREATEST((h.disk_gb - h.reserved_disk_gb) * h.disk_allocation_ratio, 0)`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		t.Error(line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(fmt.Errorf("read the sums: %w", err))
	}
}

// Dump gives every row of the schemas compute and engine, one a line, without
// the times: equal dumps say that nothing has changed.
func Dump(t testing.TB, db *store.DB) string {
	t.Helper()
	var dump strings.Builder
	for _, table := range []string{
		"compute.hosts", "compute.servers", "compute.server_faults", "compute.server_ports", "compute.block_devices",
		"compute.allocations", "compute.claimed_resources", "compute.migrations", "compute.quota_usages",
		"engine.operations", "engine.operation_events", "engine.operation_effects", "engine.operation_inbox",
		"orchestration.stacks", "orchestration.resources", "orchestration.events",
	} {
		rows, err := db.Pool.Query(t.Context(), `SELECT (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(x))
			WHERE key !~ '_at$|^last_seen$|^deadline$')::text FROM `+table+` x ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			fmt.Fprintln(&dump, table, line)
		}
	}
	return dump.String()
}
