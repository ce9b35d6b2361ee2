package compute

// What a rebuild makes of a server's rows: kept aside while it is at work, theirs
// when it is done.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// rebuildOf finds the rebuild that holds a server, itself or by its recovery.
const rebuildOf = `WITH RECURSIVE line AS (
		SELECT kind, input, step, retry_of FROM engine.operations WHERE id = $1 AND finished_at IS NULL
		UNION ALL
		SELECT o.kind, o.input, o.step, o.retry_of FROM engine.operations o JOIN line ON o.id = line.retry_of AND line.kind = $2
	) SELECT input FROM line WHERE kind = $3`

// AsItStarts gives the server as its guest is started now: with what a rebuild
// makes of it, once that is past its point of no return, and what the guest is
// told, if anything. Errors: NotFound.
func AsItStarts(ctx context.Context, q store.Queryer, box *secrets.Box, serverID string) (*Server, BootData, error) {
	s, err := GetServer(ctx, q, "", serverID)
	if err != nil {
		return nil, BootData{}, err
	}
	in, err := readRebuild(ctx, q, s, rebuildOf+` AND step = $4`, operations.StepGuest)
	if err != nil {
		return nil, BootData{}, err
	}
	if in == nil {
		boot, err := GetBootData(ctx, q, box, serverID)
		if faults.Is(err, faults.NotFound) {
			err = nil
		}
		return s, boot, err
	}
	boot, err := nextBootData(ctx, q, box, serverID)
	return Rebuilt(s, *in), boot, err
}

// readRebuild gives what a rebuild that holds s was asked for; nil if none does.
func readRebuild(ctx context.Context, q store.Queryer, s *Server, query string, args ...any) (*steps.Rebuild, error) {
	var text []byte
	err := q.QueryRow(ctx, query, append([]any{s.OperationID, operations.ServerRecover, operations.ServerRebuild}, args...)...).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	in := new(steps.Rebuild)
	return in, json.Unmarshal(text, in)
}

// Rebuilt is the server as a rebuild makes it.
func Rebuilt(s *Server, in steps.Rebuild) *Server {
	now := *s
	if now.ImageID != "" {
		now.ImageID = in.ImageID
	}
	now.ImageProperties = in.ImageProperties
	for _, text := range []struct{ field, value *string }{{&now.Name, in.Name}, {&now.Hostname, in.Hostname},
		{&now.DiskConfig, in.DiskConfig}, {&now.AccessIPv4, in.AccessIPv4}, {&now.AccessIPv6, in.AccessIPv6}} {
		if text.value != nil {
			*text.field = *text.value
		}
	}
	if in.KeyName != nil {
		if now.KeyName = in.KeyName; *in.KeyName == "" {
			now.KeyName = nil
		}
	}
	if in.Description != nil {
		now.Description = in.Description.Text
	}
	if in.Metadata != nil {
		now.Metadata = *in.Metadata
	}
	if in.Certificates != nil {
		now.TrustedCertificates = slices.Clone(*in.Certificates)
	}
	return &now
}

// publishRebuild makes the server's rows what the rebuild has made of its guest.
func publishRebuild(ctx context.Context, tx store.Tx, id string, in steps.Rebuild) error {
	change := ServerChange{Name: in.Name, Hostname: in.Hostname, DiskConfig: in.DiskConfig, AccessIPv4: in.AccessIPv4, AccessIPv6: in.AccessIPv6}
	if in.Description != nil {
		change.Description = &in.Description.Text
	}
	if err := ChangeServer(ctx, tx, id, change); err != nil {
		return err
	}
	if in.Metadata != nil {
		if err := SetMetadata(ctx, tx, id, *in.Metadata); err != nil {
			return err
		}
	}
	if in.Certificates != nil {
		if err := changeServer(ctx, tx, id, `trusted_certificates = NULLIF($2::text[], '{}')`, *in.Certificates); err != nil {
			return err
		}
	}
	if in.KeyName != nil {
		if err := changeServer(ctx, tx, id, `key_name = NULLIF($2, '')`, *in.KeyName); err != nil {
			return err
		}
	}
	err := changeServer(ctx, tx, id, `image_id = CASE WHEN image_id = '' THEN '' ELSE $2 END, image_properties = $3`, in.ImageID, orEmpty(in.ImageProperties))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `WITH next AS (DELETE FROM compute.next_boot_data WHERE server_id = $1 RETURNING *)
		UPDATE compute.boot_data b SET user_data = next.user_data, admin_password = next.admin_password, files = next.files,
			key_name = next.key_name, key_type = next.key_type, key_data = next.key_data
		FROM next WHERE b.server_id = next.server_id`, id)
	return store.Translate(err)
}

// SetNextBootData seals what the server's guest is told once it is rebuilt.
func SetNextBootData(ctx context.Context, tx store.Tx, box *secrets.Box, serverID string, d BootData) error {
	s, err := d.seal(box, serverID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO compute.next_boot_data (server_id, user_data, admin_password, files, key_name, key_type, key_data)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (server_id) DO UPDATE SET user_data = EXCLUDED.user_data,
			admin_password = EXCLUDED.admin_password, files = EXCLUDED.files,
			key_name = EXCLUDED.key_name, key_type = EXCLUDED.key_type, key_data = EXCLUDED.key_data`,
		serverID, s.userData, s.password, s.files, d.KeyName, d.KeyType, d.KeyData)
	return store.Translate(err)
}

// nextBootData is boot data as it will be: what a rebuild has no say in is as it is.
func nextBootData(ctx context.Context, q store.Queryer, box *secrets.Box, serverID string) (BootData, error) {
	return readBootData(ctx, q, box, serverID, `SELECT n.user_data, n.admin_password, n.key_name, n.key_type, n.key_data, b.random_seed, COALESCE(b.password, ''), n.files
		FROM compute.next_boot_data n LEFT JOIN compute.boot_data b USING (server_id) WHERE n.server_id = $1`)
}
