package compute

// Servers: one row each, and the few writes that api makes of them.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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
	// DiskConfig is MANUAL or AUTO; empty is MANUAL.
	DiskConfig string
	// TrustedCertificates are ids of certificates; nil if none were given.
	TrustedCertificates []string
	// Tags are read with the server and written by SetTags.
	Tags []string
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
	HostID string
	// ShelvedImageID is the image that a shelved server starts from when it runs
	// again; empty for every other.
	ShelvedImageID string
	AccessIPv4     string
	AccessIPv6     string

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

	// Ports are its network interfaces that are bound, in their order.
	Ports []Interface
	// Volumes are those that are attached. RootDevice is the name of the device
	// that it boots from, empty without such a row; HasDevices says that it has
	// block devices at all.
	Volumes    []AttachedVolume
	RootDevice string
	HasDevices bool
	// Host is the one that HostID names; nil if none.
	Host *Host
	// Fault is the newest one, read only for servers in ERROR or deleted.
	Fault *Fault
}

// DiskConfigManual is the DiskConfig of servers whose disk is not partitioned
// for them.
const DiskConfigManual = "MANUAL"

// Status is the word that clients are shown.
func (s *Server) Status() string { return servers.Status(s.VMState, s.TaskState) }

// Unused says that neither a host nor an operation has the server: nothing that
// is still outside for it is in use. Errors: Unavailable.
func (s *Server) Unused() error {
	if s.DeletedAt == nil && (s.HostID != "" || s.OperationID != "") {
		return faults.New(faults.Unavailable, "ServerInUse", "server %s is in use", s.ID)
	}
	return nil
}

// Idle says that no operation has the server. Errors: Unavailable.
func (s *Server) Idle() error {
	if s.OperationID != "" {
		return faults.New(faults.Unavailable, "ServerInUse", "server %s is in use", s.ID)
	}
	return nil
}

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
	s.key_name, s.config_drive, s.disk_config, s.trusted_certificates,
	ARRAY(SELECT tag FROM compute.server_tags t WHERE t.server_id = s.id), s.availability_zone, s.placement, s.reservation_id, s.launch_index,
	s.vm_state, COALESCE(s.task_state, ''), s.power_state, s.progress, s.locked, s.locked_by, s.locked_reason,
	COALESCE(s.host_id::text, ''), s.shelved_image_id, COALESCE(host(s.access_ip_v4), ''), COALESCE(host(s.access_ip_v6), ''),
	s.launched_at, s.terminated_at, s.created_at, s.updated_at, s.deleted_at,
	COALESCE(s.operation_id, ''), COALESCE(s.next_operation_id, ''), s.generation,
	h.name, h.availability_zone, h.disabled, h.forced_down, h.seen_ago,
	f.code, f.message, f.details, f.created_at, ` + interfaces + `, ` + devicesColumn

// serverFrom joins the host and, for states that show one, the newest fault.
const serverFrom = ` FROM compute.servers s
	LEFT JOIN LATERAL (SELECT h.name, h.availability_zone, h.disabled, h.forced_down,
			extract(epoch FROM now() - h.last_seen)::float8 AS seen_ago
		FROM compute.hosts h WHERE h.id = s.host_id) h ON true
	LEFT JOIN LATERAL (SELECT f.code, f.message, f.details, f.created_at
		FROM compute.server_faults f WHERE f.server_id = s.id AND s.vm_state IN ('error', 'deleted')
		ORDER BY f.created_at DESC LIMIT 1) f ON true `

// serverRow is where the columns of a row are scanned to, used again for every
// row of a page.
type serverRow struct {
	Server
	flavor, imageProperties, metadata, systemMetadata, placement, ports, devices pgtype.DriverBytes

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
	// flavors are the ones decoded so far, by their text: a page shows few.
	flavors map[string]Flavor
}

func (r *serverRow) fields() []any {
	s := &r.Server
	return []any{&s.ID, &s.ProjectID, &s.UserID, &s.Name, &s.Hostname, &s.Description,
		&r.flavor, &s.VCPUs, &s.MemoryMB, &s.DiskGB, &s.ImageID, &r.imageProperties, &r.metadata, &r.systemMetadata,
		&s.KeyName, &s.ConfigDrive, &s.DiskConfig, &s.TrustedCertificates, &s.Tags, &s.AvailabilityZone, &r.placement, &s.ReservationID, &s.LaunchIndex,
		&s.VMState, &s.TaskState, &s.PowerState, &s.Progress, &s.Locked, &s.LockedBy, &s.LockedReason,
		&s.HostID, &s.ShelvedImageID, &s.AccessIPv4, &s.AccessIPv6,
		&s.LaunchedAt, &s.TerminatedAt, &s.CreatedAt, &s.UpdatedAt, &s.DeletedAt,
		&s.OperationID, &s.NextOperationID, &s.Generation,
		&r.host.name, &r.host.zone, &r.host.disabled, &r.host.forcedDown, &r.host.seenAgo,
		&r.fault.code, &r.fault.message, &r.fault.details, &r.fault.createdAt, &r.ports, &r.devices}
}

// server makes the server of the row that was just scanned.
func (r *serverRow) server() (*Server, error) {
	s := r.Server
	s.Tags = slices.Sorted(slices.Values(r.Tags))
	err := errors.Join(
		r.decodeFlavor(&s.Flavor),
		decode(r.imageProperties, &s.ImageProperties),
		decode(r.metadata, &s.Metadata),
		decode(r.systemMetadata, &s.SystemMetadata),
	)
	if string(r.placement) != "{}" {
		err = errors.Join(err, json.Unmarshal(r.placement, &s.Placement))
	}
	if r.devices != nil {
		err = errors.Join(err, s.readDevices(r.devices))
	}
	if r.ports != nil {
		err = errors.Join(err, json.Unmarshal(r.ports, &s.Ports))
	}
	if err != nil {
		return nil, fmt.Errorf("the row of server %s: %w", s.ID, err)
	}
	if r.host.name != nil {
		s.Host = &Host{ID: s.HostID, Name: *r.host.name, AvailabilityZone: *r.host.zone,
			Disabled: *r.host.disabled, ForcedDown: *r.host.forcedDown, SeenAgo: seconds(r.host.seenAgo)}
	}
	if r.fault.code != nil {
		s.Fault = &Fault{Code: *r.fault.code, Message: *r.fault.message, Details: *r.fault.details, CreatedAt: *r.fault.createdAt}
	}
	return &s, nil
}

// decodeFlavor decodes each flavor of a page once; its servers share the extra
// specs, which nobody changes.
func (r *serverRow) decodeFlavor(f *Flavor) error {
	known, ok := r.flavors[string(r.flavor)]
	if !ok {
		if err := json.Unmarshal(r.flavor, &known); err != nil {
			return err
		}
		if r.flavors == nil {
			r.flavors = map[string]Flavor{}
		}
		r.flavors[string(r.flavor)] = known
	}
	*f = known
	return nil
}

// decode reads an object of strings; most are empty.
func decode(text []byte, m *map[string]string) error {
	*m = map[string]string{}
	if string(text) == "{}" {
		return nil
	}
	return json.Unmarshal(text, m)
}

// scanServers reads all rows of a query for serverColumns.
func scanServers(rows pgx.Rows) ([]*Server, error) {
	defer rows.Close()
	var r serverRow
	var all []*Server
	fields := r.fields()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return nil, store.Translate(err)
		}
		s, err := r.server()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, store.Translate(rows.Err())
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
		if s.DiskConfig == "" {
			s.DiskConfig = DiskConfigManual
		}
		batch.Queue(`
			INSERT INTO compute.servers (id, project_id, user_id, name, hostname, description,
				flavor, vcpus, memory_mb, disk_gb, image_id, image_properties, metadata, system_metadata,
				key_name, config_drive, availability_zone, placement, reservation_id, launch_index,
				vm_state, task_state, power_state, access_ip_v4, access_ip_v6, disk_config, trusted_certificates)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
				$21, NULLIF($22, ''), $23, NULLIF($24, '')::inet, NULLIF($25, '')::inet, $26, $27)
			RETURNING created_at, updated_at`,
			s.ID, s.ProjectID, s.UserID, s.Name, s.Hostname, s.Description,
			s.Flavor, s.VCPUs, s.MemoryMB, s.DiskGB, s.ImageID, orEmpty(s.ImageProperties), orEmpty(s.Metadata), orEmpty(s.SystemMetadata),
			s.KeyName, s.ConfigDrive, s.AvailabilityZone, s.Placement, s.ReservationID, s.LaunchIndex,
			s.VMState, s.TaskState, s.PowerState, s.AccessIPv4, s.AccessIPv6, s.DiskConfig, s.TrustedCertificates,
		).QueryRow(func(row pgx.Row) error { return row.Scan(&s.CreatedAt, &s.UpdatedAt) })
	}
	return store.Translate(tx.SendBatch(ctx, &batch).Close())
}

// live says that the row found by its id is not deleted, in words that promise no
// partial index anything. Before a table has statistics the planner takes all of
// such an index for a shorter way than the id's own, and a prepared statement
// keeps to the way it has found.
const live = "num_nulls(s.deleted_at) = 1"

// GetServer gives a server of projectID ("" is any); a deleted one is not found.
func GetServer(ctx context.Context, q store.Queryer, projectID, id string) (*Server, error) {
	return oneServer(ctx, q, projectID, id, "AND "+live)
}

// LockServer is GetServer that holds the row until the transaction ends.
func LockServer(ctx context.Context, tx store.Tx, projectID, id string) (*Server, error) {
	return oneServer(ctx, tx, projectID, id, "AND "+live+" FOR NO KEY UPDATE OF s")
}

// GetServerOrDeleted is GetServer for those who may still look at a deleted
// one: operations, and lists of what was.
func GetServerOrDeleted(ctx context.Context, q store.Queryer, projectID, id string) (*Server, error) {
	return oneServer(ctx, q, projectID, id, "")
}

func oneServer(ctx context.Context, q store.Queryer, projectID, id, rest string) (*Server, error) {
	if !isUUID(id) {
		return nil, serverNotFound(id)
	}
	rows, err := q.Query(ctx, `SELECT `+serverColumns+serverFrom+`
		WHERE s.id = $1 AND ($2 = '' OR s.project_id = $2) `+rest, id, projectID)
	if err != nil {
		return nil, store.Translate(err)
	}
	found, err := scanServers(rows)
	if err == nil && len(found) == 0 {
		err = serverNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func serverNotFound(id string) error {
	return faults.New(faults.NotFound, "InstanceNotFound", "Instance %s could not be found.", id)
}

// SetTask says what is being done to the server from now on; TaskNone clears it.
func SetTask(ctx context.Context, tx store.Tx, id string, task servers.TaskState) error {
	return changeServer(ctx, tx, id, `task_state = NULLIF($2, '')`, task)
}

// AdvanceTask is SetTask for the operation that holds the row: what an operation
// that waits for the row has said of it stays.
func AdvanceTask(ctx context.Context, tx store.Tx, id string, task servers.TaskState) error {
	return changeServer(ctx, tx, id, `task_state = CASE WHEN next_operation_id IS NULL THEN NULLIF($2, '') ELSE task_state END`, task)
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
	tag, err := tx.Exec(ctx, `UPDATE compute.servers s SET `+set+`, updated_at = now() WHERE id = $1 AND `+live,
		append([]any{id}, args...)...)
	if err != nil {
		return store.Translate(err)
	}
	if tag.RowsAffected() == 0 {
		return serverNotFound(id)
	}
	return nil
}
