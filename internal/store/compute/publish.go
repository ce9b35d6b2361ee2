package compute

// Publishing: what a finished operation makes true of a server's row.

import (
	"context"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// PublishServer makes o true of the row in one statement: fields that o leaves
// nil stay, the task state is cleared unless an operation that waits for the row
// has set it, and f becomes the newest fault. Deleted also takes the server off
// its host and ends its open migration, and off the shelf. A server counts in its
// project's quota unless it is deleted or soft-deleted; what changes of that is
// charged or given back. Once a guest has been made the admin password that it was
// told is forgotten, and so are the builds that its host had failed. A deleted row is
// changed no more. The caller has checked the fence.
func PublishServer(ctx context.Context, tx store.Tx, id string, o steps.ServerOutcome, f *steps.Fault) error {
	vm := o.VMState
	if o.Deleted {
		deleted := string(servers.VMDeleted)
		vm = &deleted
	}
	var code *int
	var message *string
	if f != nil {
		code, message = &f.HTTPCode, &f.Message
	}
	if o.Migration != nil {
		if err := settleMigration(ctx, tx, id, *o.Migration); err != nil {
			return err
		}
	}
	if o.Rebuilt != nil {
		if err := publishRebuild(ctx, tx, id, *o.Rebuilt); err != nil {
			return err
		}
	}
	shelved := o.Shelved
	if shelved == nil {
		shelved = &steps.ShelvedOutcome{}
	}
	_, err := tx.Exec(ctx, `
		WITH was AS (
			SELECT id, soft_deleted_at IS NULL AS counted FROM compute.servers WHERE id = $1
		), published AS (
			UPDATE compute.servers s SET
				vm_state      = COALESCE($2, vm_state),
				task_state    = CASE WHEN next_operation_id IS NOT NULL AND NOT $6 THEN task_state END,
				power_state   = COALESCE($3, power_state),
				host_id       = CASE WHEN $6 THEN NULL WHEN $4::text IS NULL THEN host_id ELSE NULLIF($4, '')::uuid END,
				availability_zone = COALESCE($9, availability_zone),
				shelved_at    = CASE WHEN $6 OR $10 AND NOT $11 THEN NULL WHEN $10 THEN COALESCE(shelved_at, now()) ELSE shelved_at END,
				shelved_image_id = CASE WHEN $6 THEN '' WHEN $10 THEN $12 ELSE shelved_image_id END,
				progress      = 0,
				launched_at   = CASE WHEN $5 THEN now() ELSE launched_at END,
				deleted_at    = CASE WHEN $6 THEN now() END,
				soft_deleted_at = CASE WHEN NOT $6 AND COALESCE($2, vm_state) = 'soft-delete' THEN COALESCE(soft_deleted_at, now()) END,
				terminated_at = CASE WHEN $6 THEN now() ELSE terminated_at END,
				updated_at    = now()
			FROM was WHERE s.id = was.id AND `+live+`
			RETURNING s.id, project_id, vcpus, memory_mb,
				(s.deleted_at IS NULL AND s.soft_deleted_at IS NULL)::integer - was.counted::integer AS more
		), told AS (
			UPDATE compute.boot_data b SET admin_password = NULL FROM published p
			WHERE b.server_id = p.id AND b.admin_password IS NOT NULL AND ($5 OR $6 OR COALESCE($2 = 'rescued', false))
		), made AS (
			UPDATE compute.hosts SET failed_builds = 0 WHERE $5 AND id = NULLIF($4, '')::uuid AND failed_builds > 0
		), fault AS (
			INSERT INTO compute.server_faults (server_id, created_at, code, message)
			SELECT id, clock_timestamp(), $7::integer, $8::text FROM published WHERE $7 IS NOT NULL
		), moved AS (
			UPDATE compute.migrations m SET deleted_at = now(), updated_at = now(), leftover = false,
				status = CASE WHEN m.open THEN CASE m.status WHEN 'finished' THEN 'confirmed' ELSE 'error' END ELSE m.status END
			FROM published p WHERE $6 AND m.server_id = p.id
		), counted AS (
			SELECT s.project_id, s.more, `+charged("vcpus")+` AS vcpus, `+charged("memory_mb")+` AS memory_mb FROM published s
				LEFT JOIN compute.migrations m ON m.server_id = s.id AND m.open WHERE s.more <> 0
		)
		UPDATE compute.quota_usages u SET instances = GREATEST(u.instances + p.more, 0), cores = GREATEST(u.cores + p.more * p.vcpus, 0),
			ram_mb = GREATEST(u.ram_mb + p.more * p.memory_mb, 0), updated_at = now()
		FROM counted p WHERE u.project_id = p.project_id`,
		id, vm, o.PowerState, o.Host, o.Launched, o.Deleted, code, message, o.Zone, o.Shelved != nil, shelved.On, shelved.ImageID)
	return store.Translate(err)
}
