package compute

// Probes of the audit: what must not be true of servers, hosts and quotas in
// any snapshot of the database, whatever is running.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/store"
)

// reported are the guests that hosts have reported, h being the host and g the
// guest: server_id (text), id (the same as a UUID; null if it is none),
// power_state, generation.
const reported = `compute.hosts h
	CROSS JOIN LATERAL jsonb_to_recordset(CASE jsonb_typeof(h.inventory->'guests') WHEN 'array' THEN h.inventory->'guests' ELSE '[]' END)
		AS r (server_id text, power_state integer, generation bigint)
	CROSS JOIN LATERAL (SELECT r.*, CASE WHEN r.server_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN r.server_id::uuid END AS id) g`

// strangers narrows reported to guests of which no server accounts, nor a move of
// one that is unconfirmed: s is the server's row, null if there is none. One that
// has changed since the host can have looked proves nothing.
var strangers = reported + ` LEFT JOIN compute.servers s ON s.id = g.id
	WHERE (s.id IS NULL OR (s.deleted_at IS NOT NULL OR s.host_id IS DISTINCT FROM h.id) AND NOT ` + running + ` AND ` + settled + `)
		AND NOT EXISTS (SELECT FROM compute.migrations m WHERE m.server_id = s.id AND m.open AND m.leftover AND m.source_host_id = h.id)
		AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.ref = g.server_id AND e.host = h.id::text AND ` + accounted + `)`

// settled says that the host's report is younger than the last change of the
// server's row, however long the host took to make it.
const settled = `s.updated_at < h.last_seen - interval '30 s'`

// accounted says of ledger line e that somebody will undo it or pass it on.
const accounted = `e.state IN ('intended', 'done', 'owed')`

// atService is a probe for what a deleted server still has at a service.
func atService(name, why, effect, what, rows string) engine.Probe {
	return engine.Query(name, why, fmt.Sprintf(`SELECT s.id::text, %s FROM compute.servers s JOIN %s
			ON x.server_id = s.id WHERE s.deleted_at IS NOT NULL
			AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.kind = $1 AND e.ref = s.id::text AND %s)`, what, rows, accounted), effect)
}

// running says that an unfinished operation holds server s.
const running = `EXISTS (SELECT FROM engine.operations o WHERE o.id = s.operation_id AND o.finished_at IS NULL)`

// otherSizes looks at claims that aren't of the server's very size for those that
// aren't what its flavor and its place on the host make of it either.
func otherSizes(ctx context.Context, q store.Queryer) ([]engine.Finding, error) {
	rows, err := q.Query(ctx, `SELECT s.id::text, s.flavor, s.vcpus, s.memory_mb, s.disk_gb, a.vcpus, a.memory_mb, a.disk_gb, a.numa
		FROM compute.servers s JOIN compute.allocations a ON a.consumer_id = s.id AND a.host_id = s.host_id
		WHERE s.deleted_at IS NULL AND NOT `+running+`
			AND (a.vcpus, a.memory_mb, a.disk_gb) <> (s.vcpus, s.memory_mb, s.disk_gb)`)
	if err != nil {
		return nil, store.Translate(err)
	}
	var found []engine.Finding
	var s Server
	var took Room
	var placed *numa.Placement
	_, err = pgx.ForEachRow(rows, []any{&s.ID, &s.Flavor, &s.VCPUs, &s.MemoryMB, &s.DiskGB, &took.VCPUs, &took.MemoryMB, &took.DiskGB, &placed}, func() error {
		room, err := s.Room(placed)
		if err == nil && took != room && len(found) < engine.MaxFindings {
			found = append(found, engine.Finding{Subject: s.ID, Detail: fmt.Sprintf("%d/%d/%d taken for %d/%d/%d (CPUs, MiB, GiB)",
				took.VCPUs, took.MemoryMB, took.DiskGB, room.VCPUs, room.MemoryMB, room.DiskGB)})
		}
		s.Flavor, placed = Flavor{}, nil
		return err
	})
	return found, store.Translate(err)
}

// Probes are compute's own; `holdfast audit` runs them beside the engine's.
var Probes = []engine.Probe{
	engine.Query("claim-unaccounted",
		"Room on a host is taken for a server that is not there, and no operation and no debt will give it back.",
		`SELECT a.server_id::text, format('%s CPUs and %s MiB on host %s, taken by %s', a.vcpus, a.memory_mb, a.host_id, a.operation_id)
		FROM compute.allocations a WHERE `+unaccounted),
	engine.Query("server-without-claim",
		"A server is on a host where it has no room, so the room may be promised to others.",
		`SELECT s.id::text, 'on host ' || s.host_id FROM compute.servers s
		WHERE s.host_id IS NOT NULL AND s.deleted_at IS NULL AND NOT `+running+`
			AND NOT EXISTS (SELECT FROM compute.allocations a WHERE a.consumer_id = s.id AND a.host_id = s.host_id)`),
	{Name: "claim-of-other-size",
		Why: "A server that nothing is being done to has more or less room on its host than its size says.", Run: otherSizes},
	engine.Query("host-sums",
		"What a host says is used is not the sum of its claims, so it takes too many servers or too few.",
		`SELECT h.name, format('%s/%s/%s for %s servers, its claims are %s/%s/%s for %s (CPUs, MiB, GiB)',
			h.vcpus_used, h.memory_mb_used, h.disk_gb_used, h.servers, a.vcpus, a.memory_mb, a.disk_gb, a.servers)
		FROM compute.hosts h CROSS JOIN LATERAL (
			SELECT COALESCE(sum(vcpus), 0) AS vcpus, COALESCE(sum(memory_mb), 0) AS memory_mb,
				COALESCE(sum(disk_gb), 0) AS disk_gb, count(*) AS servers
			FROM compute.allocations WHERE host_id = h.id) a
		WHERE (h.vcpus_used, h.memory_mb_used, h.disk_gb_used, h.servers) <> (a.vcpus, a.memory_mb, a.disk_gb, a.servers)`),
	engine.Query("quota-usage",
		"What a project is charged is not what its servers are, so it is refused too early or too late.",
		`SELECT COALESCE(u.project_id, s.project_id), format('charged %s/%s/%s, its servers are %s/%s/%s (instances, cores, MiB)',
			COALESCE(u.instances, 0), COALESCE(u.cores, 0), COALESCE(u.ram_mb, 0),
			COALESCE(s.instances, 0), COALESCE(s.cores, 0), COALESCE(s.ram_mb, 0))
		FROM compute.quota_usages u FULL JOIN (
			SELECT s.project_id, count(*) AS instances, sum(`+charged("vcpus")+`) AS cores, sum(`+charged("memory_mb")+`) AS ram_mb
			FROM `+chargedServers+` WHERE s.deleted_at IS NULL AND s.soft_deleted_at IS NULL GROUP BY s.project_id) s ON s.project_id = u.project_id
		WHERE (COALESCE(u.instances, 0), COALESCE(u.cores, 0), COALESCE(u.ram_mb, 0))
			<> (COALESCE(s.instances, 0), COALESCE(s.cores, 0), COALESCE(s.ram_mb, 0))`),
	engine.Query("server-stuck",
		"A server shows that something is being done to it, and no operation does it.",
		`SELECT s.id::text, format('%s, task %s, held by %s', s.vm_state, COALESCE(s.task_state, 'none'), COALESCE(s.operation_id, 'nobody'))
		FROM compute.servers s
		WHERE s.deleted_at IS NULL AND (s.task_state IS NOT NULL OR s.vm_state = 'building') AND NOT `+running),
	engine.Query("server-nowhere",
		"A server has a guest by its state, and the row names no host to find it on.",
		`SELECT s.id::text, s.vm_state FROM compute.servers s
		WHERE s.deleted_at IS NULL AND s.host_id IS NULL AND NOT `+running+`
			AND s.vm_state IN ('active', 'stopped', 'paused', 'suspended', 'rescued', 'resized', 'shelved')`),
	engine.Query("guest-without-server",
		"A host has a guest of which no server accounts: it takes room that is promised to others. After a restore of the database, --adopt gives it its server back.",
		`SELECT g.server_id, format('host %s has a guest of it (power state %s), and %s', h.name, g.power_state, CASE
			WHEN s.id IS NULL THEN 'there is no such server' WHEN s.deleted_at IS NOT NULL THEN 'the server is deleted'
			WHEN s.host_id IS NULL THEN 'the server is on no host' ELSE 'the server is on host ' || s.host_id END)
		FROM `+strangers),
	engine.Query("server-without-guest",
		"A server has a guest by its state, and its host says that there is none. A hard reboot can't help it; its user may delete it.",
		`SELECT s.id::text, format('%s, and host %s has no guest of it', s.vm_state, h.name)
		FROM compute.servers s JOIN compute.hosts h ON h.id = s.host_id
		WHERE s.deleted_at IS NULL AND NOT `+running+` AND `+settled+`
			AND s.vm_state IN ('active', 'stopped', 'paused', 'suspended') AND jsonb_typeof(h.inventory->'guests') = 'array'
			AND NOT h.inventory->'guests' @> jsonb_build_array(jsonb_build_object('server_id', s.id::text))`),
	engine.Query("server-behind-host",
		"A host has seen a later owner of a server than its row knows, and refuses what is asked of it. After a restore of the database, --adopt mends it.",
		`SELECT s.id::text, format('generation %s, host %s has seen %s', s.generation, h.name, g.generation)
		FROM `+reported+` JOIN compute.servers s ON s.id = g.id WHERE s.deleted_at IS NULL AND g.generation > s.generation`),
	engine.Query("migration-of-nobody",
		"A move of a server is under way by its row, and no operation carries it out; its old room is held for nothing.",
		`SELECT m.uuid::text, format('%s of server %s is %s, the server is %s', m.migration_type, m.server_id, m.status, s.vm_state)
		FROM compute.migrations m JOIN compute.servers s ON s.id = m.server_id
		WHERE m.open AND NOT `+running+` AND (s.deleted_at IS NOT NULL OR m.status <> 'finished' OR s.vm_state NOT IN ('resized', 'error', 'soft-delete'))`),
	engine.Query("resize-without-migration",
		"A server waits for its resize to be confirmed, and nothing says what it was before.",
		`SELECT s.id::text, 'on host ' || COALESCE(s.host_id::text, 'none') FROM compute.servers s
		WHERE s.vm_state = 'resized' AND s.deleted_at IS NULL AND NOT `+running+`
			AND NOT EXISTS (SELECT FROM compute.migrations m WHERE m.server_id = s.id AND m.open)`),
	atService("port-of-deleted-server", "A deleted server still has a port, which nobody will take from it.",
		"ports", `'port ' || x.port_id`, `(SELECT * FROM compute.server_ports WHERE bound OR reserved) x`),
	atService("volume-of-deleted-server", "A deleted server still has a volume attached, which nobody will take from it.",
		"volumes", `'volume ' || x.volume_id`, `(SELECT * FROM compute.block_devices WHERE attachment_id <> '') x`),
	engine.Query("swap-of-nobody",
		"A volume is to take the place of another, or has taken it, and no operation and no debt will tell Cinder how that ended.",
		`SELECT b.server_id::text, format('volume %s for volume %s', b.swap_volume_id, b.volume_id) FROM compute.block_devices b
		WHERE b.swap_volume_id <> '' AND NOT EXISTS (SELECT FROM engine.operation_effects e
			WHERE e.ref = b.swap_volume_id AND e.kind IN ('new-volume', 'old-volume') AND e.state IN ('intended', 'done', 'owed'))`),
	engine.Query("server-deleted-with-rest",
		"A deleted server still has a host or a task, so what it had was not taken away.",
		`SELECT s.id::text, format('host %s, task %s', COALESCE(s.host_id::text, 'none'), COALESCE(s.task_state, 'none'))
		FROM compute.servers s
		WHERE s.deleted_at IS NOT NULL AND (s.host_id IS NOT NULL OR s.task_state IS NOT NULL)`),
}
