package compute

// Servers: one row each, and the few writes that api makes of them.

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// Server is a row of compute.servers with what is shown beside it.
type Server struct {
	ID          string
	ProjectID   string
	UserID      string
	Name        string
	Hostname    string
	Description *string
	// Flavor is the copy taken at boot. VCPUs, MemoryMB (MiB) and DiskGB (GiB)
	// are what is counted on the host and, the first two, in the quota.
	Flavor   Flavor
	VCPUs    int
	MemoryMB int64
	DiskGB   int64
	// ImageID is empty for a server that boots from a volume.
	ImageID         string
	ImageProperties map[string]string
	Metadata        map[string]string
	SystemMetadata  map[string]string
	KeyName         *string
	ConfigDrive     bool
	// AvailabilityZone is the one asked for; empty is any. The one to show is
	// the host's, once there is a host.
	AvailabilityZone string
	Placement        Placement
	ReservationID    string
	LaunchIndex      int

	VMState      servers.VMState
	TaskState    servers.TaskState
	PowerState   servers.PowerState
	Progress     int
	Locked       bool
	LockedBy     *string
	LockedReason *string
	// HostID is empty while the server is on no host.
	HostID     string
	AccessIPv4 string
	AccessIPv6 string

	LaunchedAt   *time.Time
	TerminatedAt *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	DeletedAt    *time.Time

	// OperationID holds the row, NextOperationID waits for it; empty if none.
	// Only internal/engine writes these three.
	OperationID     string
	NextOperationID string
	Generation      int64

	// Host is the one that HostID names; nil if none.
	Host *Host
	// Fault is the newest one, read only for servers in ERROR or deleted.
	Fault *Fault
}

// Status is the word that clients are shown.
func (s *Server) Status() string { return servers.Status(s.VMState, s.TaskState) }

// Placement is what the request said about where the server may run.
type Placement struct {
	// Host and Node are names; HostID is a host's id.
	Host  string         `json:"host,omitempty"`
	Node  string         `json:"node,omitempty"`
	Hints map[string]any `json:"hints,omitempty"`
}

// Fault is why a server is in ERROR.
type Fault struct {
	// Code is the HTTP status that goes with the message, 500 for most.
	Code      int
	Message   string
	Details   string
	CreatedAt time.Time
}

const serverColumns = `s.id, s.project_id, s.user_id, s.name, s.hostname, s.description,
	s.flavor, s.vcpus, s.memory_mb, s.disk_gb, s.image_id, s.image_properties, s.metadata, s.system_metadata,
	s.key_name, s.config_drive, s.availability_zone, s.placement, s.reservation_id, s.launch_index,
	s.vm_state, COALESCE(s.task_state, ''), s.power_state, s.progress, s.locked, s.locked_by, s.locked_reason,
	COALESCE(s.host_id::text, ''), COALESCE(host(s.access_ip_v4), ''), COALESCE(host(s.access_ip_v6), ''),
	s.launched_at, s.terminated_at, s.created_at, s.updated_at, s.deleted_at,
	COALESCE(s.operation_id, ''), COALESCE(s.next_operation_id, ''), s.generation,
	h.name, h.availability_zone, h.disabled, h.forced_down, h.seen_ago,
	f.code, f.message, f.details, f.created_at`

// serverFrom joins the host and, for states that show one, the newest fault.
const serverFrom = ` FROM compute.servers s
	LEFT JOIN LATERAL (SELECT h.name, h.availability_zone, h.disabled, h.forced_down,
			extract(epoch FROM now() - h.last_seen)::float8 AS seen_ago
		FROM compute.hosts h WHERE h.id = s.host_id) h ON true
	LEFT JOIN LATERAL (SELECT f.code, f.message, f.details, f.created_at
		FROM compute.server_faults f WHERE f.server_id = s.id AND s.vm_state IN ('error', 'deleted')
		ORDER BY f.created_at DESC LIMIT 1) f ON true `

// scannedServer is a server with the nullable columns of its joins.
type scannedServer struct {
	Server
	host struct {
		name, zone           *string
		disabled, forcedDown *bool
		seenAgo              *float64
	}
	fault struct {
		code             *int
		message, details *string
		createdAt        *time.Time
	}
}

func (s *scannedServer) fields() []any {
	return []any{&s.ID, &s.ProjectID, &s.UserID, &s.Name, &s.Hostname, &s.Description,
		&s.Flavor, &s.VCPUs, &s.MemoryMB, &s.DiskGB, &s.ImageID, &s.ImageProperties, &s.Metadata, &s.SystemMetadata,
		&s.KeyName, &s.ConfigDrive, &s.AvailabilityZone, &s.Placement, &s.ReservationID, &s.LaunchIndex,
		&s.VMState, &s.TaskState, &s.PowerState, &s.Progress, &s.Locked, &s.LockedBy, &s.LockedReason,
		&s.HostID, &s.AccessIPv4, &s.AccessIPv6,
		&s.LaunchedAt, &s.TerminatedAt, &s.CreatedAt, &s.UpdatedAt, &s.DeletedAt,
		&s.OperationID, &s.NextOperationID, &s.Generation,
		&s.host.name, &s.host.zone, &s.host.disabled, &s.host.forcedDown, &s.host.seenAgo,
		&s.fault.code, &s.fault.message, &s.fault.details, &s.fault.createdAt}
}

// server completes the scan.
func (s *scannedServer) server() *Server {
	if s.host.name != nil {
		s.Host = &Host{ID: s.HostID, Name: *s.host.name, AvailabilityZone: *s.host.zone,
			Disabled: *s.host.disabled, ForcedDown: *s.host.forcedDown, SeenAgo: seconds(s.host.seenAgo)}
	}
	if s.fault.code != nil {
		s.Fault = &Fault{Code: *s.fault.code, Message: *s.fault.message, Details: *s.fault.details, CreatedAt: *s.fault.createdAt}
	}
	return &s.Server
}

// InsertServer adds a row and fills in CreatedAt and UpdatedAt. The lock
// columns stay empty: engine.Accept takes the row next.
func InsertServer(ctx context.Context, tx store.Tx, s *Server) error {
	return InsertServers(ctx, tx, []*Server{s})
}

// InsertServers adds the rows of one request in one round trip.
func InsertServers(ctx context.Context, tx store.Tx, all []*Server) error {
	var batch pgx.Batch
	for _, s := range all {
		batch.Queue(`
			INSERT INTO compute.servers (id, project_id, user_id, name, hostname, description,
				flavor, vcpus, memory_mb, disk_gb, image_id, image_properties, metadata, system_metadata,
				key_name, config_drive, availability_zone, placement, reservation_id, launch_index,
				vm_state, task_state, power_state, access_ip_v4, access_ip_v6)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
				$21, NULLIF($22, ''), $23, NULLIF($24, '')::inet, NULLIF($25, '')::inet)
			RETURNING created_at, updated_at`,
			s.ID, s.ProjectID, s.UserID, s.Name, s.Hostname, s.Description,
			s.Flavor, s.VCPUs, s.MemoryMB, s.DiskGB, s.ImageID, orEmpty(s.ImageProperties), orEmpty(s.Metadata), orEmpty(s.SystemMetadata),
			s.KeyName, s.ConfigDrive, s.AvailabilityZone, s.Placement, s.ReservationID, s.LaunchIndex,
			s.VMState, s.TaskState, s.PowerState, s.AccessIPv4, s.AccessIPv6,
		).QueryRow(func(row pgx.Row) error { return row.Scan(&s.CreatedAt, &s.UpdatedAt) })
	}
	return store.Translate(tx.SendBatch(ctx, &batch).Close())
}

// GetServer gives a server of projectID ("" is any); a deleted one is not found.
func GetServer(ctx context.Context, q store.Queryer, projectID, id string) (*Server, error) {
	return oneServer(ctx, q, projectID, id, "")
}

// LockServer is GetServer that holds the row until the transaction ends.
func LockServer(ctx context.Context, tx store.Tx, projectID, id string) (*Server, error) {
	return oneServer(ctx, tx, projectID, id, "FOR UPDATE OF s")
}

func oneServer(ctx context.Context, q store.Queryer, projectID, id, lock string) (*Server, error) {
	if !isUUID(id) {
		return nil, serverNotFound(id)
	}
	var s scannedServer
	err := q.QueryRow(ctx, `SELECT `+serverColumns+serverFrom+`
		WHERE s.id = $1 AND ($2 = '' OR s.project_id = $2) AND s.deleted_at IS NULL `+lock, id, projectID).Scan(s.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, serverNotFound(id)
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	return s.server(), nil
}

func serverNotFound(id string) error {
	return faults.New(faults.NotFound, "InstanceNotFound", "Instance %s could not be found.", id)
}

// SetTask says what is being done to the server from now on; TaskNone clears it.
func SetTask(ctx context.Context, tx store.Tx, id string, task servers.TaskState) error {
	return changeServer(ctx, tx, id, `task_state = NULLIF($2, '')`, task)
}

// ResetState sets the VM state by hand and clears the task.
func ResetState(ctx context.Context, tx store.Tx, id string, vm servers.VMState) error {
	return changeServer(ctx, tx, id, `vm_state = $2, task_state = NULL`, vm)
}

// SetMetadata replaces all of a server's metadata.
func SetMetadata(ctx context.Context, tx store.Tx, id string, metadata map[string]string) error {
	return changeServer(ctx, tx, id, `metadata = $2`, orEmpty(metadata))
}

// changeServer sets columns of one live server from $2 on.
func changeServer(ctx context.Context, tx store.Tx, id, set string, args ...any) error {
	tag, err := tx.Exec(ctx, `UPDATE compute.servers SET `+set+`, updated_at = now() WHERE id = $1 AND deleted_at IS NULL`,
		append([]any{id}, args...)...)
	if err != nil {
		return store.Translate(err)
	}
	if tag.RowsAffected() == 0 {
		return serverNotFound(id)
	}
	return nil
}
