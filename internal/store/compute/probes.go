package compute

// Probes of the audit: what must not be true of servers, hosts and quotas in
// any snapshot of the database, whatever is running.

import "holdfast.dev/internal/engine"

// running says that an unfinished operation holds server s.
const running = `EXISTS (SELECT FROM engine.operations o WHERE o.id = s.operation_id AND o.finished_at IS NULL)`

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
			AND NOT EXISTS (SELECT FROM compute.allocations a WHERE a.server_id = s.id AND a.host_id = s.host_id)`),
	engine.Query("claim-of-other-size",
		"A server that nothing is being done to has more or less room on its host than its size says.",
		`SELECT s.id::text, format('%s/%s/%s taken for %s/%s/%s (CPUs, MiB, GiB)',
			a.vcpus, a.memory_mb, a.disk_gb, s.vcpus, s.memory_mb, s.disk_gb)
		FROM compute.servers s JOIN compute.allocations a ON a.server_id = s.id AND a.host_id = s.host_id
		WHERE s.deleted_at IS NULL AND NOT `+running+`
			AND (a.vcpus, a.memory_mb, a.disk_gb) <> (s.vcpus, s.memory_mb, s.disk_gb)`),
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
			SELECT project_id, count(*) AS instances, sum(vcpus) AS cores, sum(memory_mb) AS ram_mb
			FROM compute.servers WHERE deleted_at IS NULL GROUP BY project_id) s ON s.project_id = u.project_id
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
	engine.Query("server-deleted-with-rest",
		"A deleted server still has a host or a task, so what it had was not taken away.",
		`SELECT s.id::text, format('host %s, task %s', COALESCE(s.host_id::text, 'none'), COALESCE(s.task_state, 'none'))
		FROM compute.servers s
		WHERE s.deleted_at IS NOT NULL AND (s.host_id IS NOT NULL OR s.task_state IS NOT NULL)`),
}
