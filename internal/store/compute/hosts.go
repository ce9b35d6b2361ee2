package compute

// Hosts: who they are, what they have, and when they were last heard of.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// DownAfter is the silence after which a host counts as down (contracts:
// quotas-and-limits.json, service_down_time).
const DownAfter = 60 * time.Second

// DriverIronic is the driver of hosts that are nodes of the bare metal service.
const DriverIronic = "ironic"

// Host is a row of compute.hosts.
type Host struct {
	// Number is what old microversions name the host by.
	Number int64
	// ID is the host's own UUID, Name its hostname, unique too.
	ID               string
	Name             string
	Incarnation      int64
	Driver           string
	AvailabilityZone string

	// Capacity in CPUs, MiB and GiB: what there is, what is kept back, and how
	// often the rest may be promised.
	VCPUs, ReservedVCPUs       int
	MemoryMB, ReservedMemoryMB int64
	DiskGB, ReservedDiskGB     int64
	CPURatio, RAMRatio         float64
	DiskRatio                  float64
	// The sums of its allocations.
	VCPUsUsed    int
	MemoryMBUsed int64
	DiskGBUsed   int64
	Servers      int
	// FailedBuilds is how many builds it has failed since its last guest was made, or
	// its worker started.
	FailedBuilds int

	// Inventory is what else the host reports of itself, opaque here.
	Inventory      json.RawMessage
	LinkAddress    string
	Disabled       bool
	DisabledReason string
	ForcedDown     bool
	// SeenAgo is the time since the last heartbeat by the database's clock;
	// negative if there never was one.
	SeenAgo   time.Duration
	LastSeen  *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Up says whether the host is alive: heard of within downAfter (0: DownAfter)
// and not declared down.
func (h *Host) Up(downAfter time.Duration) bool { return up(h.SeenAgo, h.ForcedDown, downAfter) }

func up(seenAgo time.Duration, forcedDown bool, downAfter time.Duration) bool {
	if downAfter == 0 {
		downAfter = DownAfter
	}
	return !forcedDown && seenAgo >= 0 && seenAgo <= downAfter
}

const hostColumns = `h.id, h.name, h.incarnation, h.driver, h.availability_zone,
	h.vcpus, h.reserved_vcpus, h.memory_mb, h.reserved_memory_mb, h.disk_gb, h.reserved_disk_gb,
	h.cpu_allocation_ratio, h.ram_allocation_ratio, h.disk_allocation_ratio,
	h.vcpus_used, h.memory_mb_used, h.disk_gb_used, h.servers, h.failed_builds,
	h.link_address, h.disabled, h.disabled_reason, h.forced_down,
	extract(epoch FROM now() - h.last_seen)::float8, h.created_at, h.updated_at, h.number, h.last_seen`

type scannedHost struct {
	Host
	seenAgo *float64
}

func (h *scannedHost) fields() []any {
	return []any{&h.ID, &h.Name, &h.Incarnation, &h.Driver, &h.AvailabilityZone,
		&h.VCPUs, &h.ReservedVCPUs, &h.MemoryMB, &h.ReservedMemoryMB, &h.DiskGB, &h.ReservedDiskGB,
		&h.CPURatio, &h.RAMRatio, &h.DiskRatio,
		&h.VCPUsUsed, &h.MemoryMBUsed, &h.DiskGBUsed, &h.Servers, &h.FailedBuilds,
		&h.LinkAddress, &h.Disabled, &h.DisabledReason, &h.ForcedDown,
		&h.seenAgo, &h.CreatedAt, &h.UpdatedAt, &h.Number, &h.LastSeen}
}

func (h *scannedHost) host() *Host {
	h.SeenAgo = seconds(h.seenAgo)
	return &h.Host
}

// The inventory is read as bytes: the database has checked that it is JSON.
func (h *scannedHost) fieldsWithInventory() []any { return append(h.fields(), (*[]byte)(&h.Inventory)) }

// seconds reads an interval that may be null: never is negative.
func seconds(s *float64) time.Duration {
	if s == nil {
		return -1
	}
	// A transaction may have begun a little before the heartbeat it reads.
	return max(0, time.Duration(*s*float64(time.Second)))
}

// Registration is what a host's worker says of itself when it starts. Capacity
// is in CPUs, MiB and GiB.
type Registration struct {
	ID, Name    string
	Incarnation int64
	// Instance is the process's own: two processes that count to the same
	// incarnation are told apart by it.
	Instance         string
	Driver           string
	AvailabilityZone string
	LinkAddress      string
	Report           Report
}

// Report is what a host has, as each heartbeat repeats it.
type Report struct {
	VCPUs            int
	MemoryMB, DiskGB int64
	// Inventory is a JSON object; empty leaves the one known.
	Inventory json.RawMessage
}

// RegisterHost adds the host or takes note of its new incarnation; used sums,
// reserves, ratios and what operators set stay. Refused with faults.Conflict:
// an incarnation older than the one known (code StaleIncarnation) or known of
// another instance (IncarnationTaken), a new name while servers are on it
// (HostRenamed), a name that another host has (HostNameTaken).
func RegisterHost(ctx context.Context, tx store.Tx, r Registration) error {
	if !isUUID(r.ID) {
		return faults.New(faults.Invalid, "InvalidHost", "host id %q is not a UUID", r.ID)
	}
	var known struct {
		name, instance string
		incarnation    int64
		servers        int
	}
	err := tx.QueryRow(ctx, `SELECT name, incarnation, instance, servers FROM compute.hosts WHERE id = $1 FOR UPDATE`, r.ID).
		Scan(&known.name, &known.incarnation, &known.instance, &known.servers)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return store.Translate(err)
	case r.Incarnation < known.incarnation:
		return faults.New(faults.Conflict, "StaleIncarnation", "host %s has started again since: incarnation %d is known, %d says hello",
			known.name, known.incarnation, r.Incarnation)
	case r.Incarnation == known.incarnation && r.Instance != known.instance:
		return faults.New(faults.Conflict, "IncarnationTaken", "another process is incarnation %d of host %s: is its state folder a copy?",
			known.incarnation, known.name)
	case r.Name != known.name && known.servers > 0:
		return faults.New(faults.Conflict, "HostRenamed", "host %s has %d servers on it and can't be renamed to %s",
			known.name, known.servers, r.Name)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO compute.hosts (id, name, incarnation, driver, own_zone, link_address,
			vcpus, memory_mb, disk_gb, inventory, last_seen, instance)
		VALUES ($1, $2, $3, $4, COALESCE(NULLIF($5, ''), 'nova'), $6, $7, $8, $9, COALESCE($10::jsonb, '{}'), now(), $11)
		ON CONFLICT (id) DO UPDATE SET name = $2, incarnation = $3, driver = $4,
			own_zone = COALESCE(NULLIF($5, ''), compute.hosts.own_zone), link_address = $6,
			vcpus = $7, memory_mb = $8, disk_gb = $9,
			inventory = COALESCE($10::jsonb, compute.hosts.inventory), last_seen = now(),
			failed_builds = CASE WHEN compute.hosts.incarnation = $3 THEN compute.hosts.failed_builds ELSE 0 END,
			instance = $11, updated_at = now()`,
		r.ID, r.Name, r.Incarnation, r.Driver, r.AvailabilityZone, r.LinkAddress,
		r.Report.VCPUs, r.Report.MemoryMB, r.Report.DiskGB, inventory(r.Report), r.Instance)
	if isUnique(err, "hosts_name_key") {
		return faults.Wrap(err, faults.Conflict, "HostNameTaken", "another host is registered under the name %s", r.Name)
	}
	if err != nil {
		return store.Translate(err)
	}
	_, err = settleZone(ctx, tx, r.ID)
	return err
}

// Heartbeat notes that this incarnation of the host is alive and what it has
// now. faults.NotFound: it must register first, since it isn't known or, after
// a restore of the database, only as it was earlier; faults.Superseded: a newer
// incarnation has.
func Heartbeat(ctx context.Context, q store.Queryer, id string, incarnation int64, r Report) error {
	if !isUUID(id) {
		return hostNotFound(id)
	}
	var known, current bool
	err := q.QueryRow(ctx, `
		WITH alive AS (
			UPDATE compute.hosts SET last_seen = now(), vcpus = $3, memory_mb = $4, disk_gb = $5,
				inventory = COALESCE($6::jsonb, inventory)
			WHERE id = $1 AND incarnation = $2 RETURNING id
		)
		SELECT EXISTS (SELECT FROM compute.hosts WHERE id = $1 AND incarnation >= $2), EXISTS (SELECT FROM alive)`,
		id, incarnation, r.VCPUs, r.MemoryMB, r.DiskGB, inventory(r)).Scan(&known, &current)
	switch {
	case err != nil:
		return store.Translate(err)
	case !known:
		return hostNotFound(id)
	case !current:
		return faults.New(faults.Superseded, "StaleIncarnation", "another incarnation of host %s is registered", id)
	}
	return nil
}

// inventory is null for a report without one.
func inventory(r Report) any {
	if len(r.Inventory) == 0 {
		return nil
	}
	return r.Inventory
}

// GetHost gives the host with this id, its inventory included.
func GetHost(ctx context.Context, q store.Queryer, id string) (*Host, error) {
	if !isUUID(id) {
		return nil, hostNotFound(id)
	}
	return oneHost(ctx, q, "h.id", id)
}

// HostByName gives the host with this name, its inventory included.
func HostByName(ctx context.Context, q store.Queryer, name string) (*Host, error) {
	return oneHost(ctx, q, "h.name", name)
}

func oneHost(ctx context.Context, q store.Queryer, column string, value any) (*Host, error) {
	var h scannedHost
	err := q.QueryRow(ctx, `SELECT `+hostColumns+`, h.inventory FROM compute.hosts h WHERE `+column+` = $1`, value).
		Scan(h.fieldsWithInventory()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, hostNotFound(fmt.Sprint(value))
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	return h.host(), nil
}

// HostFilter narrows a list of hosts. Zero fields don't.
type HostFilter struct {
	// NamePart is a part of the host's name.
	NamePart string
	// Marker is the name of the last host of the page before; Limit 0 is no limit.
	Marker string
	Limit  int
}

// ListHosts gives a page of hosts by name, without their inventories.
func ListHosts(ctx context.Context, q store.Queryer, f HostFilter) ([]*Host, error) {
	return listHosts(ctx, q, f, hostColumns, (*scannedHost).fields)
}

// ListInventories gives a page of hosts by name, their inventories included.
func ListInventories(ctx context.Context, q store.Queryer, f HostFilter) ([]*Host, error) {
	return listHosts(ctx, q, f, hostColumns+`, h.inventory`, (*scannedHost).fieldsWithInventory)
}

func listHosts(ctx context.Context, q store.Queryer, f HostFilter, columns string, fields func(*scannedHost) []any) ([]*Host, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM compute.hosts h
		WHERE h.name > $1 AND strpos(h.name, $2) > 0 ORDER BY h.name LIMIT $3`,
		f.Marker, f.NamePart, limit(f.Limit))
	if err != nil {
		return nil, store.Translate(err)
	}
	scanned, err := collect(rows, fields)
	if err != nil {
		return nil, err
	}
	hosts := make([]*Host, len(scanned))
	for i, h := range scanned {
		hosts[i] = h.host()
	}
	return hosts, nil
}

// HasZone says whether a zone has a host that isn't disabled.
func HasZone(ctx context.Context, q store.Queryer, zone string) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM compute.hosts WHERE availability_zone = $1 AND NOT disabled)`, zone).Scan(&has)
	return has, store.Translate(err)
}

// HostByNumber gives the host that old microversions name by a number.
func HostByNumber(ctx context.Context, q store.Queryer, number int64) (*Host, error) {
	return oneHost(ctx, q, "h.number", number)
}

// ServerName names a server on a host.
type ServerName struct{ ID, Name string }

// ServersOn gives the names of the servers on each of these hosts, by host.
func ServersOn(ctx context.Context, q store.Queryer, hostIDs ...string) (map[string][]ServerName, error) {
	rows, err := q.Query(ctx, `SELECT host_id::text, id::text, name FROM compute.servers
		WHERE host_id = ANY ($1::uuid[]) AND deleted_at IS NULL ORDER BY created_at, id`, hostIDs)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	on := map[string][]ServerName{}
	for rows.Next() {
		var host string
		var s ServerName
		if err := rows.Scan(&host, &s.ID, &s.Name); err != nil {
			return nil, store.Translate(err)
		}
		on[host] = append(on[host], s)
	}
	return on, store.Translate(rows.Err())
}

// ProjectUse is what a project's servers have of a host.
type ProjectUse struct {
	ProjectID        string
	VCPUs            int
	MemoryMB, DiskGB int64
}

// UseOf sums what the servers on a host have, by project.
func UseOf(ctx context.Context, q store.Queryer, hostID string) ([]*ProjectUse, error) {
	rows, err := q.Query(ctx, `SELECT project_id, sum(vcpus)::integer, sum(memory_mb)::bigint, sum(disk_gb)::bigint FROM compute.servers
		WHERE host_id = $1 AND deleted_at IS NULL GROUP BY project_id ORDER BY project_id`, hostID)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, func(u *ProjectUse) []any { return []any{&u.ProjectID, &u.VCPUs, &u.MemoryMB, &u.DiskGB} })
}

// DeleteHost forgets a host, until it registers again; faults.Conflict if
// servers or claims are on it, or a move from or to it is not over.
func DeleteHost(ctx context.Context, tx store.Tx, id string) error {
	var moving, inUse bool
	err := tx.QueryRow(ctx, `
		WITH moving AS (
			SELECT FROM compute.migrations m WHERE m.open AND $1 IN (m.source_host_id, m.dest_host_id)
		), used AS (
			SELECT FROM compute.servers s WHERE s.host_id = $1
			UNION ALL
			SELECT FROM compute.allocations a WHERE a.host_id = $1 AND a.consumer_id = a.server_id
		), held AS (
			SELECT FROM compute.allocations a WHERE a.host_id = $1
		), gone AS (
			DELETE FROM compute.hosts h WHERE id = $1
				AND NOT EXISTS (SELECT FROM moving) AND NOT EXISTS (SELECT FROM used) AND NOT EXISTS (SELECT FROM held)
			RETURNING id
		)
		SELECT NOT EXISTS (SELECT FROM used) AND EXISTS (SELECT FROM moving), NOT EXISTS (SELECT FROM gone)`, id).Scan(&moving, &inUse)
	switch {
	case err != nil:
		return store.Translate(err)
	case moving:
		return faults.New(faults.Conflict, "HostInMigration", "Unable to delete compute service that has in-progress migrations. "+
			"Complete the migrations or delete the instances first.")
	case inUse:
		return faults.New(faults.Conflict, "HostInUse",
			"Unable to delete compute service that is hosting instances. Migrate or delete the instances first.")
	}
	return nil
}

// SetHostDisabled takes the host out of scheduling, or puts it back.
func SetHostDisabled(ctx context.Context, tx store.Tx, id string, disabled bool, reason string) error {
	return changeHost(ctx, tx, id, `disabled = $2, disabled_reason = $3`, disabled, reason)
}

// SetHostForcedDown declares the host down, or ends that.
func SetHostForcedDown(ctx context.Context, tx store.Tx, id string, down bool) error {
	return changeHost(ctx, tx, id, `forced_down = $2`, down)
}

func changeHost(ctx context.Context, tx store.Tx, id, set string, args ...any) error {
	if !isUUID(id) {
		return hostNotFound(id)
	}
	tag, err := tx.Exec(ctx, `UPDATE compute.hosts SET `+set+`, updated_at = now() WHERE id = $1`, append([]any{id}, args...)...)
	if err != nil {
		return store.Translate(err)
	}
	if tag.RowsAffected() == 0 {
		return hostNotFound(id)
	}
	return nil
}

func hostNotFound(host string) error {
	return faults.New(faults.NotFound, "ComputeHostNotFound", "Compute host %s could not be found.", host)
}
