package compute_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// findings are the names of the probes that find something, with the counts.
func findings(t testing.TB, e *engine.Engine) map[string]int {
	t.Helper()
	report, err := e.Audit(t.Context(), compute.Probes...)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, f := range report.Findings {
		found[f.Probe]++
		if f.Subject == "" || f.Detail == "" {
			t.Errorf("a finding of %s says nothing: %+v", f.Probe, f)
		}
	}
	return found
}

// running is an active server on the host, with its claim.
func running(t testing.TB, db *store.DB, host string) string {
	t.Helper()
	s := computetest.AddServer(t, db, "p")
	if ok, err := claim(t, db, s.ID, host, s.Size()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	publish(t, db, s.ID, steps.ServerOutcome{VMState: pointer("active"), PowerState: pointer(1), Host: &host}, nil)
	return s.ID
}

// reports is what a server's host says of its guests, long after the server's
// row has changed; $1 in it is the server.
func reports(guests string) string {
	return `WITH old AS (UPDATE compute.servers SET updated_at = now() - interval '1 min' WHERE id = $1)
		UPDATE compute.hosts SET last_seen = now(), inventory = jsonb_build_object('guests', replace('` + guests + `', '$' || '1', $1::text)::jsonb)`
}

// gone deletes a server properly, but for what then remains.
func gone(remains string) string {
	return `WITH gone AS (UPDATE compute.servers SET deleted_at = now(), host_id = NULL, vm_state = 'deleted' WHERE id = $1 RETURNING id, project_id),
		usage AS (UPDATE compute.quota_usages SET instances = 0, cores = 0, ram_mb = 0 WHERE project_id IN (SELECT project_id FROM gone)),
		room AS (DELETE FROM compute.allocations WHERE server_id IN (SELECT id FROM gone)),
		host AS (UPDATE compute.hosts SET vcpus_used = 0, memory_mb_used = 0, disk_gb_used = 0, servers = 0)
		` + remains + ` FROM gone`
}

// Each way in which rows can disagree is found by its probe and by no other,
// and a healthy cloud by none.
func TestEveryProbeFindsItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		probe  string
		damage string // one statement; $1 is a running server
	}{
		{"", `SELECT $1::uuid`},
		{"claim-of-other-size", `UPDATE compute.servers SET disk_gb = 9 WHERE id = $1`},
		{"", `WITH claim AS (UPDATE compute.allocations SET vcpus = 7, disk_gb = 0), host AS (UPDATE compute.hosts SET vcpus_used = 7, disk_gb_used = 0)
			UPDATE compute.servers SET flavor = jsonb_set(flavor, '{extra_specs}', '{"resources:VCPU": "3", "resources1:VCPU": "4", "resources:DISK_GB": "0"}') WHERE id = $1`},
		{"", `WITH claim AS (UPDATE compute.allocations SET vcpus = vcpus - 1, numa = '{"cells": [{"host": 0, "cpus": [0], "pinned": {"0": 2}, "memory_mb": 1}]}')
			UPDATE compute.hosts SET vcpus_used = vcpus_used - 1 WHERE id = (SELECT host_id FROM compute.servers WHERE id = $1)`},
		{"host-sums", `UPDATE compute.hosts SET vcpus_used = vcpus_used + 1 WHERE id = (SELECT host_id FROM compute.servers WHERE id = $1)`},
		{"quota-usage", `UPDATE compute.quota_usages SET cores = 7 WHERE project_id = (SELECT project_id FROM compute.servers WHERE id = $1)`},
		{"server-stuck", `UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1`},
		{"migration-of-nobody", `INSERT INTO compute.migrations (uuid, server_id, project_id, user_id, operation_id, migration_type, status, old_flavor, new_flavor,
				old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state)
			SELECT gen_random_uuid(), id, project_id, user_id, 'none', 'resize', 'migrating', flavor, flavor,
				vcpus, memory_mb, disk_gb, vcpus, memory_mb, disk_gb, 'active' FROM compute.servers WHERE id = $1`},
		{"resize-without-migration", `UPDATE compute.servers SET vm_state = 'resized' WHERE id = $1`},
		{"server-without-claim", `WITH gone AS (DELETE FROM compute.allocations WHERE server_id = $1 RETURNING host_id)
			UPDATE compute.hosts SET vcpus_used = 0, memory_mb_used = 0, disk_gb_used = 0, servers = 0 WHERE id IN (SELECT host_id FROM gone)`},
		{"claim-unaccounted", `UPDATE compute.servers SET host_id = NULL, vm_state = 'error' WHERE id = $1`},
		{"guest-without-server", reports(`[{"server_id": "` + uuid.NewString() + `", "power_state": 1}, {"server_id": "$1"}]`)},
		{"guest-without-server", reports(`[{"server_id": "no id at all", "power_state": 0}, {"server_id": "$1"}]`)},
		{"server-without-guest", reports(`[]`)},
		{"server-behind-host", reports(`[{"server_id": "$1", "power_state": 1, "generation": 9}]`)},
		{"", reports(`[{"server_id": "$1", "power_state": 1, "generation": 0}]`)},
		{"port-of-deleted-server", gone(`INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id, bound) SELECT id, 0, true, 'net', 'p1', true`)},
		{"volume-of-deleted-server", gone(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id) SELECT id, 0, 'volume', 'volume', 'v1', 'a1'`)},
		{"swap-of-nobody", `INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, swap_volume_id) SELECT id, 0, 'volume', 'volume', 'v1', 'v2' FROM compute.servers WHERE id = $1`},
		{"server-deleted-with-rest", `WITH gone AS (UPDATE compute.servers SET deleted_at = now(), task_state = 'deleting', host_id = NULL, vm_state = 'deleted' WHERE id = $1 RETURNING id),
			claim AS (DELETE FROM compute.allocations WHERE server_id = $1),
			sums AS (UPDATE compute.hosts SET vcpus_used = 0, memory_mb_used = 0, disk_gb_used = 0, servers = 0)
			UPDATE compute.quota_usages SET instances = 0, cores = 0, ram_mb = 0`},
		{"server-nowhere", `WITH claim AS (DELETE FROM compute.allocations WHERE server_id = $1),
			sums AS (UPDATE compute.hosts SET vcpus_used = 0, memory_mb_used = 0, disk_gb_used = 0, servers = 0)
			UPDATE compute.servers SET host_id = NULL WHERE id = $1`},
	} {
		t.Run(c.probe, func(t *testing.T) {
			t.Parallel()
			db := computetest.Open(t)
			e := engine.New(db, compute.Resource())
			id := running(t, db, computetest.AddHost(t, db, "h", computetest.Room))
			if _, err := db.Pool.Exec(t.Context(), c.damage, id); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			if c.probe != "" {
				want[c.probe] = 1
			}
			if got := findings(t, e); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("found %v, want %v", got, want)
			}
		})
	}
}

// beginBuild has a build of the server begin.
func beginBuild(t *testing.T, db *store.DB, e *engine.Engine, s *compute.Server) (f steps.Fence) {
	t.Helper()
	computetest.InTx(t, db, func(tx store.Tx) error {
		accepted, err := e.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: s.ID, ProjectID: "p"})
		if err != nil {
			return err
		}
		f = steps.Fence{OperationID: accepted.OperationID, RunID: "run"}
		begun, err := e.Begin(t.Context(), tx, steps.BeginIn{OperationID: f.OperationID, RunID: f.RunID})
		f.Generation = begun.Generation
		return err
	})
	return f
}

// intendOn gives it room for a guest on the host.
func intendOn(t *testing.T, db *store.DB, e *engine.Engine, f steps.Fence, s *compute.Server, host string) {
	t.Helper()
	computetest.InTx(t, db, func(tx store.Tx) error {
		_, err := e.Intend(t.Context(), tx, f,
			operations.Effect{Kind: operations.EffectClaim, Ref: s.ID, Host: host, State: operations.Done},
			operations.Effect{Kind: operations.EffectGuest, Ref: s.ID, Host: host})
		if err != nil {
			return err
		}
		_, err = compute.ClaimOnHost(t.Context(), tx, s.ID, host, f.OperationID, compute.Claim{Room: s.Size()})
		return err
	})
}

// Room that has passed to its server before the row says that it is there is in the
// hands of the operation that will say it.
func TestAClaimThatHasPassedIsNoFinding(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	e := engine.New(db, compute.Resource())
	host := computetest.AddHost(t, db, "h", computetest.Room)
	s := computetest.AddServer(t, db, "p")
	f := beginBuild(t, db, e, s)
	intendOn(t, db, e, f, s, host)
	settled := []steps.Settlement{{Seq: 1, State: operations.Passed}, {Seq: 2, State: operations.Passed}}
	computetest.InTx(t, db, func(tx store.Tx) error {
		_, err := e.Advance(t.Context(), tx, steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Settle: settled})
		return err
	})
	if got := findings(t, e); len(got) != 0 {
		t.Errorf("before it has ended: found %v", got)
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		if err := compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: pointer(string(servers.VMError))}, nil); err != nil {
			return err
		}
		_, err := e.Finish(t.Context(), tx, steps.FinishIn{Fence: f, Result: operations.ResultFailed})
		return err
	})
	if got := findings(t, e); got["claim-unaccounted"] != 1 {
		t.Errorf("once it has ended with the server elsewhere: found %v", got)
	}
}

// While operations are at work, and while a host owes, nothing is found; once
// the debt is paid the room is free again, and a second word of it changes
// nothing.
func TestDebtsAndRunningOperationsAreNoFindings(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	e := engine.New(db, compute.Resource())
	host := computetest.AddHost(t, db, "h", computetest.Room)
	s := computetest.AddServer(t, db, "p")
	silent := func(when string) {
		t.Helper()
		if got := findings(t, e); len(got) != 0 {
			t.Errorf("%s: found %v", when, got)
		}
	}
	f := beginBuild(t, db, e, s)
	silent("a build has begun")
	intendOn(t, db, e, f, s, host)
	silent("it has a claim")
	computetest.InTx(t, db, func(tx store.Tx) error {
		if err := compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: pointer(string(servers.VMError))}, nil); err != nil {
			return err
		}
		_, err := e.Finish(t.Context(), tx, steps.FinishIn{Fence: f, Result: operations.ResultFailed, Settle: []steps.Settlement{
			{Seq: 1, State: operations.Owed}, {Seq: 2, State: operations.Owed}}})
		return err
	})
	silent("its host owes")
	used := func() int {
		h, err := compute.GetHost(t.Context(), db.Pool, host)
		if err != nil {
			t.Fatal(err)
		}
		return h.VCPUsUsed
	}
	if used() != 1 {
		t.Errorf("%d CPUs are used while the guest is owed", used())
	}
	pay := func() error {
		return db.InTx(t.Context(), func(tx store.Tx) error { return compute.PayDebt(t.Context(), tx, e, host, f.OperationID, 2) })
	}
	if err := pay(); err != nil || used() != 0 {
		t.Errorf("paid (%v), %d CPUs are used", err, used())
	}
	silent("it is paid")

	// The server has come back to that host meanwhile.
	if ok, err := claim(t, db, s.ID, host, s.Size()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	publish(t, db, s.ID, steps.ServerOutcome{VMState: pointer("active"), Host: &host}, nil)
	if err := pay(); err != nil || used() != 1 {
		t.Errorf("paid again (%v), %d CPUs are used", err, used())
	}
	silent("it is paid twice")
}
