package volume

// Migrations of volumes that servers use (os-migrate_volume): a new one is made, and
// the compute service has the servers' hosts copy what is in the old one. It says when
// that is done by os-migrate_volume_completion.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// Servers is the compute service.
type Servers struct {
	// URL is where it is, with the version: "http://127.0.0.1:8774/v2.1".
	URL string
	// Token gives a token of an administrator.
	Token func(ctx context.Context) (string, error)
}

// Values of a volume's migration_status, besides those of targets.
const (
	migrationStarting  = "starting"
	migrationMigrating = "migrating"
)

// migrates says whether the volume's migration is under way.
func (v *record) migrates() bool {
	return v.MigrationStatus != nil && *v.MigrationStatus != "success" && *v.MigrationStatus != "error"
}

// unlessMigrated does something to the state of a volume that nobody is to see of one
// that is migrated.
func unlessMigrated(run func(context.Context, *doing) (any, error)) func(context.Context, *doing) (any, error) {
	return func(ctx context.Context, d *doing) (any, error) {
		if d.v.migrates() {
			return nil, nil
		}
		return run(ctx, d)
	}
}

// migrate makes the volume that is to take the place of one that a server uses. There
// is one place for files: which other host is named counts for nothing.
func migrate(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Host *string `json:"host"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Host == nil || *in.Host == "":
		return nil, service.Fail(http.StatusBadRequest, "Invalid input for field/attribute os-migrate_volume. 'host' is a required property")
	case *in.Host == hostName:
		return nil, service.Fail(http.StatusBadRequest, "Invalid input received: Destination host must be different than the current host.")
	case d.s.Servers == nil:
		return nil, service.Fail(http.StatusBadRequest, "Volumes aren't migrated here.")
	case d.v.Status != statusInUse || d.v.migrates():
		return nil, invalidVolume("Volume %s status must be in-use and must not be migrating, but its status is %s.", d.v.ID, d.v.Status)
	}
	_, err := d.tx.Exec(ctx, `WITH old AS (UPDATE volume.volumes SET migration_status = $3, updated_at = now() WHERE id = $1 RETURNING *)
		INSERT INTO volume.volumes (id, project_id, user_id, name, description, size, status, multiattach, readonly, type_id, zone, metadata, migration_status)
		SELECT $2, project_id, user_id, name, description, size, 'creating', multiattach, readonly, type_id, zone, metadata, $4 FROM old`,
		d.v.ID, uuid.NewString(), migrationStarting, target(d.v.ID))
	return nil, err
}

// migration is one whose new volume is there.
type migration struct{ ID, Target, Instance string }

// swapsAtOnce is how many the compute service is asked for at once.
const swapsAtOnce = 8

// workOnMigrations asks the compute service for those whose new volume is there.
func (s *Service) workOnMigrations(ctx context.Context) error {
	waiting, err := rows[migration](ctx, s.Pool, `SELECT v.id, t.id AS target, a.instance FROM volume.volumes v
		JOIN volume.volumes t ON t.migration_status = 'target:' || v.id JOIN volume.attachments a ON a.volume_id = v.id AND a.instance IS NOT NULL
		WHERE v.migration_status = '`+migrationStarting+`' AND t.status IN ('available', 'error') ORDER BY v.number LIMIT 100`)
	if err != nil {
		return err
	}
	for _, m := range waiting {
		if err := s.swaps.Acquire(ctx, 1); err != nil {
			return err
		}
		begun, err := s.Pool.Exec(ctx, `UPDATE volume.volumes SET migration_status = $2 WHERE id = $1 AND migration_status = $3`, m.ID, migrationMigrating, migrationStarting)
		if err != nil {
			s.swaps.Release(1)
			return err
		}
		if begun.RowsAffected() == 0 { // it was reset meanwhile
			s.swaps.Release(1)
			continue
		}
		s.asking.Go(func() {
			defer s.swaps.Release(1)
			s.migrate(ctx, m)
		})
	}
	return nil
}

// migrate asks for one. One that is refused is over.
func (s *Service) migrate(ctx context.Context, m *migration) {
	err := s.Servers.swap(ctx, m.Instance, m.ID, m.Target)
	if err == nil || ctx.Err() != nil {
		return
	}
	err = errors.Join(err, s.write(ctx, func(tx pgx.Tx) error { return endMigration(ctx, tx, m.ID, m.Target) }))
	s.Log.Error("migrate a volume", "volume", m.ID, "server", m.Instance, "error", err)
}

// swap has a server go on on another volume.
func (c *Servers) swap(ctx context.Context, server, from, to string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	token, err := c.Token(ctx)
	if err != nil {
		return fmt.Errorf("a token for the compute service: %w", err)
	}
	body, err := json.Marshal(map[string]any{"volumeAttachment": map[string]string{"volumeId": to}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, strings.TrimRight(c.URL, "/")+"/servers/"+url.PathEscape(server)+"/os-volume_attachments/"+url.PathEscape(from), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusAccepted {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	return errors.Join(fmt.Errorf("the compute service refuses with status %d: %s", answer.StatusCode, text), err)
}
