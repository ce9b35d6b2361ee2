package compute

// Migrations: moves of servers between hosts, from the request to long after.

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Migration is a row of compute.migrations.
type Migration struct {
	ID   int64
	UUID string
	// ServerID, ProjectID and UserID are the server's and of who asked for the move.
	ServerID, ProjectID, UserID string
	OperationID                 string
	Type                        servers.MigrationType
	Status                      servers.MigrationStatus
	// SourceID and DestID are ids of hosts, empty if there is none or it has been
	// forgotten; the names stay. DestAddress is where the host link listens.
	SourceID, Source          string
	DestID, Dest, DestAddress string
	// Old and New are the flavors as they were at the request. Their numbers are
	// nil for flavors that had been deleted by then.
	Old, New             Flavor
	OldNumber, NewNumber *int64
	// OldRoom and NewRoom are what the server takes before and after.
	OldRoom, NewRoom Room
	// NewDiskConfig is the server's once it has been moved; empty keeps it.
	NewDiskConfig string
	// OldVMState is what the server was before.
	OldVMState servers.VMState
	// Leftover says that the source has the guest that the server was before,
	// which stands still.
	Leftover bool
	// Open says that it is neither over nor given up.
	Open bool
	// Forced says that somebody asked for it to be forced to complete.
	Forced bool

	CreatedAt time.Time
	UpdatedAt *time.Time
	DeletedAt *time.Time
}

const migrationColumns = `m.id, m.uuid::text, m.server_id::text, m.project_id, m.user_id, m.operation_id, m.migration_type, m.status,
	COALESCE(m.source_host_id::text, ''), m.source_host, COALESCE(m.dest_host_id::text, ''), m.dest_host, m.dest_address,
	m.old_flavor, m.new_flavor, m.old_flavor_number, m.new_flavor_number,
	m.old_vcpus, m.old_memory_mb, m.old_disk_gb, m.new_vcpus, m.new_memory_mb, m.new_disk_gb, m.new_disk_config, m.old_vm_state, m.leftover, m.open, m.forced,
	m.created_at, m.updated_at, m.deleted_at`

func (m *Migration) fields() []any {
	return []any{&m.ID, &m.UUID, &m.ServerID, &m.ProjectID, &m.UserID, &m.OperationID, &m.Type, &m.Status,
		&m.SourceID, &m.Source, &m.DestID, &m.Dest, &m.DestAddress,
		&m.Old, &m.New, &m.OldNumber, &m.NewNumber,
		&m.OldRoom.VCPUs, &m.OldRoom.MemoryMB, &m.OldRoom.DiskGB, &m.NewRoom.VCPUs, &m.NewRoom.MemoryMB, &m.NewRoom.DiskGB,
		&m.NewDiskConfig, &m.OldVMState, &m.Leftover, &m.Open, &m.Forced,
		&m.CreatedAt, &m.UpdatedAt, &m.DeletedAt}
}

// Resized gives the server in one of the move's sizes.
func (m *Migration) Resized(s *Server, size steps.Size) *Server {
	now, room := *s, m.NewRoom
	now.Flavor = m.New
	if size == steps.OldSize {
		now.Flavor, room = m.Old, m.OldRoom
	}
	now.VCPUs, now.MemoryMB, now.DiskGB = room.VCPUs, room.MemoryMB, room.DiskGB
	return &now
}

// Extra is what the move charges beyond what the server counts for already: what
// it grows by. It is charged at the request; the charge for what it shrinks by
// stays until the move is over.
func (m *Migration) Extra() Delta {
	return Delta{Cores: max(0, int64(m.NewRoom.VCPUs-m.OldRoom.VCPUs)), RAMMB: max(0, m.NewRoom.MemoryMB-m.OldRoom.MemoryMB)}
}

// charged is what a server s counts for in its project's quota, m being its open
// migration: the larger of what it is and what it may become.
func charged(column string) string {
	return `GREATEST(s.` + column + `, m.old_` + column + `, m.new_` + column + `)`
}

// chargedServers joins the open migration that charged asks for.
const chargedServers = `compute.servers s LEFT JOIN compute.migrations m ON m.server_id = s.id AND m.open`

// StartMigration writes the move that an accepted operation makes of the server,
// from the host that it is on, and charges its project for what it grows by; the
// caller holds the server's row. It fills in what the row knows better.
// Errors: OverLimit; Conflict, the server is being moved already.
func StartMigration(ctx context.Context, tx store.Tx, s *Server, m *Migration) error {
	if m.UUID == "" {
		m.UUID = uuid.NewString()
	}
	m.ServerID, m.ProjectID, m.SourceID, m.OldVMState = s.ID, s.ProjectID, s.HostID, s.VMState
	if s.Host != nil {
		m.Source = s.Host.Name
	}
	m.Old, m.OldRoom = s.Flavor, s.Size()
	if extra := m.Extra(); extra != (Delta{}) {
		if err := ChargeQuota(ctx, tx, s.ProjectID, extra); err != nil {
			return err
		}
	}
	err := tx.QueryRow(ctx, `
		INSERT INTO compute.migrations AS m (uuid, server_id, project_id, user_id, operation_id, migration_type, status,
			source_host_id, source_host, dest_host_id, dest_host, dest_address,
			old_flavor, new_flavor, old_flavor_number, new_flavor_number,
			old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state, new_disk_config)
		VALUES ($1, $2, $3, $4, $5, $6, $7, NULLIF($8, '')::uuid, $9, NULLIF($10, '')::uuid, $11, $12, $13, $14,
			(SELECT number FROM compute.flavors WHERE id = $15), (SELECT number FROM compute.flavors WHERE id = $16),
			$17, $18, $19, $20, $21, $22, $23, $24)
		RETURNING `+migrationColumns,
		m.UUID, m.ServerID, m.ProjectID, m.UserID, m.OperationID, m.Type, m.Status,
		m.SourceID, m.Source, m.DestID, m.Dest, m.DestAddress, m.Old, m.New, m.Old.ID, m.New.ID,
		m.OldRoom.VCPUs, m.OldRoom.MemoryMB, m.OldRoom.DiskGB, m.NewRoom.VCPUs, m.NewRoom.MemoryMB, m.NewRoom.DiskGB, m.OldVMState, m.NewDiskConfig,
	).Scan(m.fields()...)
	if isUnique(err, "migrations_open") {
		return faults.Wrap(err, faults.Conflict, "InstanceInMigration", "Instance %s is being moved already.", s.ID)
	}
	return store.Translate(err)
}

// AimMigration writes where an operation's move goes, and its status.
func AimMigration(ctx context.Context, tx store.Tx, operationID, hostID string, status servers.MigrationStatus) error {
	_, err := tx.Exec(ctx, `UPDATE compute.migrations m SET dest_host_id = h.id, dest_host = h.name,
			dest_address = split_part(h.link_address, ':', 1), status = $3, updated_at = now()
		FROM compute.hosts h WHERE m.operation_id = $1 AND m.open AND h.id = $2`, operationID, hostID, status)
	return store.Translate(err)
}

// SetMigrationStatus moves an open migration of a server on.
func SetMigrationStatus(ctx context.Context, tx store.Tx, serverID string, status servers.MigrationStatus) error {
	_, err := tx.Exec(ctx, `UPDATE compute.migrations SET status = $2, updated_at = now()
		WHERE server_id = $1 AND open AND status <> $2`, serverID, status)
	return store.Translate(err)
}

// settleMigration makes o true of the server's open migration, of the server's
// size, and of what both are charged for. Without an open migration it does
// nothing: a Finish that is repeated finds none.
func settleMigration(ctx context.Context, tx store.Tx, serverID string, o steps.MigrationOutcome) error {
	_, err := tx.Exec(ctx, `
		WITH before AS (
			SELECT s.id, s.project_id, `+charged("vcpus")+` AS vcpus, `+charged("memory_mb")+` AS memory_mb
			FROM `+chargedServers+` WHERE s.id = $1 AND s.deleted_at IS NULL AND m.open
		), moved AS (
			UPDATE compute.migrations m SET status = $2, leftover = $4, updated_at = now()
			FROM before WHERE m.server_id = before.id AND m.open
			RETURNING m.server_id, m.open, m.old_flavor, m.new_flavor,
				m.old_vcpus, m.old_memory_mb, m.old_disk_gb, m.new_vcpus, m.new_memory_mb, m.new_disk_gb, m.new_disk_config
		), sized AS (
			UPDATE compute.servers s SET
				flavor    = CASE $3 WHEN 'old' THEN m.old_flavor    WHEN 'new' THEN m.new_flavor    ELSE s.flavor    END,
				vcpus     = CASE $3 WHEN 'old' THEN m.old_vcpus     WHEN 'new' THEN m.new_vcpus     ELSE s.vcpus     END,
				memory_mb = CASE $3 WHEN 'old' THEN m.old_memory_mb WHEN 'new' THEN m.new_memory_mb ELSE s.memory_mb END,
				disk_gb   = CASE $3 WHEN 'old' THEN m.old_disk_gb   WHEN 'new' THEN m.new_disk_gb   ELSE s.disk_gb   END,
				disk_config = CASE WHEN $3 = 'new' AND m.new_disk_config <> '' THEN m.new_disk_config ELSE s.disk_config END
			FROM moved m WHERE s.id = m.server_id
			RETURNING CASE WHEN m.open THEN GREATEST(s.vcpus, m.old_vcpus, m.new_vcpus) ELSE s.vcpus END AS vcpus,
				CASE WHEN m.open THEN GREATEST(s.memory_mb, m.old_memory_mb, m.new_memory_mb) ELSE s.memory_mb END AS memory_mb
		)
		UPDATE compute.quota_usages u SET cores = GREATEST(u.cores + sized.vcpus - before.vcpus, 0),
			ram_mb = GREATEST(u.ram_mb + sized.memory_mb - before.memory_mb, 0), updated_at = now()
		FROM before, sized WHERE u.project_id = before.project_id`, serverID, o.Status, o.Flavor, o.Leftover)
	return store.Translate(err)
}

// abandonMigration ends the open migration of an operation that never began. One
// that was to be confirmed or reverted waits as it did before.
func abandonMigration(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result) error {
	m, err := OpenMigration(ctx, tx, op.ResourceID)
	switch {
	case err != nil || m == nil:
		return err
	case m.OperationID == op.ID && m.Type == servers.LiveMigration && result != operations.ResultFailed:
		return settleMigration(ctx, tx, op.ResourceID, steps.MigrationOutcome{Status: string(servers.MigrationCancelled)})
	case m.OperationID == op.ID:
		return settleMigration(ctx, tx, op.ResourceID, steps.MigrationOutcome{Status: string(servers.MigrationError)})
	case op.Kind == operations.ServerConfirmResize, op.Kind == operations.ServerRevertResize:
		return SetMigrationStatus(ctx, tx, op.ResourceID, servers.MigrationFinished)
	}
	return nil
}

// Unconfirmed gives servers, at most limit, that were resized or moved longer than
// age ago (0: none), wait to be confirmed and that no operation has, the oldest
// first.
func Unconfirmed(ctx context.Context, q store.Queryer, age time.Duration, limit int) ([]string, error) {
	if age <= 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, `SELECT s.id::text FROM compute.migrations m JOIN compute.servers s ON s.id = m.server_id
		WHERE m.open AND m.status = $3 AND m.updated_at < now() - $1::interval
			AND s.deleted_at IS NULL AND s.operation_id IS NULL AND s.vm_state = $4
		ORDER BY m.updated_at LIMIT $2`, age, limit, servers.MigrationFinished, servers.VMResized)
	if err != nil {
		return nil, store.Translate(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, store.Translate(err)
}

// OpenMigration gives the server's migration that is neither over nor given up;
// nil if there is none.
func OpenMigration(ctx context.Context, q store.Queryer, serverID string) (*Migration, error) {
	return oneMigration(ctx, q, `m.server_id = $1 AND m.open`, serverID)
}

// MigrationOf gives the migration that an operation makes; nil if there is none.
func MigrationOf(ctx context.Context, q store.Queryer, operationID string) (*Migration, error) {
	return oneMigration(ctx, q, `m.operation_id = $1`, operationID)
}

// ServerMigration gives a migration of a server by its number.
func ServerMigration(ctx context.Context, q store.Queryer, serverID string, id int64) (*Migration, error) {
	m, err := oneMigration(ctx, q, `m.server_id = $1 AND m.id = $2 AND m.deleted_at IS NULL`, serverID, id)
	if err == nil && m == nil {
		err = faults.New(faults.NotFound, "MigrationNotFound", "Migration %d could not be found.", id)
	}
	return m, err
}

func oneMigration(ctx context.Context, q store.Queryer, where string, args ...any) (*Migration, error) {
	var m Migration
	err := q.QueryRow(ctx, `SELECT `+migrationColumns+` FROM compute.migrations m WHERE `+where, args...).Scan(m.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &m, store.Translate(err)
}

// InProgress are the statuses of live migrations that can be looked at by their
// server, as the original has them.
var InProgress = []servers.MigrationStatus{servers.MigrationQueued, servers.MigrationPreparing,
	servers.MigrationRunning, servers.MigrationPostMigrating}

// MigrationFilter narrows a list of migrations. Zero fields don't.
type MigrationFilter struct {
	// Host is either end's name, Source the old one's.
	Host, Source                string
	ServerID                    string
	ProjectID, UserID           string
	Type                        servers.MigrationType
	Statuses                    []servers.MigrationStatus
	ChangesSince, ChangesBefore *time.Time
	// OldestFirst turns the order round, Marker asks for newest first.
	OldestFirst bool
	// Marker is the UUID of the last migration of the page before.
	Marker string
	// Limit 0 is no limit.
	Limit int
}

// ListMigrations gives a page of migrations; those of deleted
// servers are left out. Errors: Invalid (code MarkerNotFound).
func ListMigrations(ctx context.Context, q store.Queryer, f MigrationFilter) ([]*Migration, error) {
	if f.ServerID != "" && !isUUID(f.ServerID) {
		return nil, nil
	}
	if f.Marker != "" {
		if !isUUID(f.Marker) {
			return nil, markerNotFound(f.Marker)
		}
		switch m, err := oneMigration(ctx, q, `m.uuid = $1 AND m.deleted_at IS NULL`, f.Marker); {
		case err != nil:
			return nil, err
		case m == nil:
			return nil, markerNotFound(f.Marker)
		}
	}
	statuses := f.Statuses
	if statuses == nil {
		statuses = []servers.MigrationStatus{}
	}
	order := `m.created_at DESC, m.id DESC`
	if f.OldestFirst {
		order = `m.created_at, m.id`
	}
	rows, err := q.Query(ctx, `SELECT `+migrationColumns+` FROM compute.migrations m WHERE m.deleted_at IS NULL
			AND ($1 = '' OR m.source_host = $1 OR m.dest_host = $1) AND ($2 = '' OR m.source_host = $2)
			AND ($3 = '' OR m.server_id = NULLIF($3, '')::uuid) AND ($4 = '' OR m.project_id = $4) AND ($5 = '' OR m.user_id = $5)
			AND ($6 = '' OR m.migration_type = $6) AND (cardinality($7::text[]) = 0 OR m.status = ANY ($7))
			AND ($8::timestamptz IS NULL OR m.updated_at >= $8) AND ($9::timestamptz IS NULL OR m.updated_at <= $9)
			AND ($10 = '' OR (m.created_at, m.id) < (SELECT created_at, id FROM compute.migrations WHERE uuid = NULLIF($10, '')::uuid))
		ORDER BY `+order+` LIMIT $11`,
		f.Host, f.Source, f.ServerID, f.ProjectID, f.UserID, f.Type, statuses, f.ChangesSince, f.ChangesBefore, f.Marker, limit(f.Limit))
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*Migration).fields)
}
