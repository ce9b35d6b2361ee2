package orchestration

// Probes of the audit: what must not be true of stacks in any snapshot of the
// database, whatever is running.

import "holdfast.dev/internal/engine"

// Probes are the service's own.
var Probes = []engine.Probe{
	engine.Query("stack-in-progress-of-nobody",
		"A stack shows that something is done with it, and no operation has it.",
		`SELECT id::text, format('%s_%s since %s', action, status, COALESCE(updated_at, created_at)) FROM orchestration.stacks
			WHERE status = 'IN_PROGRESS' AND operation_id IS NULL AND deleted_at IS NULL`),
	engine.Query("resource-in-progress-of-nobody",
		"A resource shows that something is done with it, and no operation has its stack.",
		`SELECT r.stack_id::text, format('%s is %s_%s', r.name, r.action, r.status) FROM orchestration.resources r
			JOIN orchestration.stacks s ON s.id = r.stack_id WHERE r.status = 'IN_PROGRESS' AND s.operation_id IS NULL`),
	engine.Query("snapshot-in-progress-of-nobody",
		"A snapshot is being taken of a stack that no operation has, or deleted, and no operation has it.",
		`SELECT n.id::text, format('%s_%s of %s', n.action, n.status, n.stack_id) FROM orchestration.snapshots n JOIN orchestration.stacks s ON s.id = n.stack_id
			WHERE n.status = 'IN_PROGRESS' AND CASE n.action WHEN 'CREATE' THEN s.operation_id IS NULL ELSE n.operation_id IS NULL END`),
	engine.Query("snapshot-of-deleted-stack",
		"A stack is deleted, and what was copied of its resources is still there, or may be.",
		`SELECT n.id::text, format('%s of %s', k.name, n.stack_id) FROM orchestration.resource_snapshots k JOIN orchestration.snapshots n ON n.id = k.snapshot_id
			JOIN orchestration.stacks s ON s.id = n.stack_id WHERE s.deleted_at IS NOT NULL AND n.operation_id IS NULL`),
	engine.Query("resource-of-deleted-stack",
		"A stack is deleted, and what it had is still there, or may be.",
		`SELECT r.stack_id::text, format('%s %s', r.type, r.name) FROM orchestration.resources r
			JOIN orchestration.stacks s ON s.id = r.stack_id WHERE s.deleted_at IS NOT NULL`),
	engine.Query("identity-of-deleted-stack",
		"A stack was deleted an hour ago, and Keystone still has its users' project or a trust for it.",
		`SELECT s.id::text, format('%s of %s', what, s.name) FROM orchestration.stacks s
			JOIN (SELECT stack_id, 'project ' || name AS what FROM orchestration.user_projects UNION ALL SELECT stack_id, 'trust ' || id FROM orchestration.trusts) k ON k.stack_id = s.id
			WHERE s.deleted_at < now() - interval '1 hour'`),
}
