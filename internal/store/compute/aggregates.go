package compute

// Aggregates: sets of hosts, and what their metadata says of those.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// zoneKey is the key of an aggregate's metadata that names its hosts' zone.
const zoneKey = "availability_zone"

// Aggregate is a row of compute.aggregates and the names of its hosts.
type Aggregate struct {
	ID        int64
	UUID      string
	Name      string
	Metadata  map[string]string
	Hosts     []string
	CreatedAt time.Time
	// UpdatedAt is nil until the first change.
	UpdatedAt *time.Time
}

// Zone is the availability zone of the aggregate's hosts; empty is none.
func (a *Aggregate) Zone() string { return a.Metadata[zoneKey] }

const aggregateColumns = `a.id, a.uuid, a.name, a.metadata, a.created_at, a.updated_at,
	ARRAY(SELECT h.name FROM compute.aggregate_hosts m JOIN compute.hosts h ON h.id = m.host_id
		WHERE m.aggregate_id = a.id ORDER BY m.created_at, h.name)`

func (a *Aggregate) fields() []any {
	return []any{&a.ID, &a.UUID, &a.Name, &a.Metadata, &a.CreatedAt, &a.UpdatedAt, &a.Hosts}
}

// CreateAggregate adds an aggregate; an empty zone is none. faults.Conflict: the
// name is taken.
func CreateAggregate(ctx context.Context, tx store.Tx, name, zone string) (*Aggregate, error) {
	a := &Aggregate{Name: name, Metadata: map[string]string{}}
	if zone != "" {
		a.Metadata[zoneKey] = zone
	}
	err := tx.QueryRow(ctx, `INSERT INTO compute.aggregates (name, metadata) VALUES ($1, $2) RETURNING id, uuid, created_at`, name, a.Metadata).
		Scan(&a.ID, &a.UUID, &a.CreatedAt)
	return a, aggregateError(err, name)
}

func aggregateError(err error, name string) error {
	if isUnique(err, "aggregates_name_key") {
		return faults.Wrap(err, faults.Conflict, "AggregateNameExists", "Aggregate %s already exists.", name)
	}
	return store.Translate(err)
}

// GetAggregate gives an aggregate; LockAggregate keeps it as it is until the
// transaction ends.
func GetAggregate(ctx context.Context, q store.Queryer, id int64) (*Aggregate, error) {
	return oneAggregate(ctx, q, id, "")
}

// LockAggregate see GetAggregate.
func LockAggregate(ctx context.Context, tx store.Tx, id int64) (*Aggregate, error) {
	return oneAggregate(ctx, tx, id, " FOR UPDATE OF a")
}

func oneAggregate(ctx context.Context, q store.Queryer, id int64, lock string) (*Aggregate, error) {
	a := &Aggregate{}
	err := q.QueryRow(ctx, `SELECT `+aggregateColumns+` FROM compute.aggregates a WHERE a.id = $1`+lock, id).Scan(a.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, faults.New(faults.NotFound, "AggregateNotFound", "Aggregate %d could not be found.", id)
	}
	return a, store.Translate(err)
}

// ListAggregates gives all of them, oldest first.
func ListAggregates(ctx context.Context, q store.Queryer) ([]*Aggregate, error) {
	rows, err := q.Query(ctx, `SELECT `+aggregateColumns+` FROM compute.aggregates a ORDER BY a.id`)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*Aggregate).fields)
}

// RenameAggregate gives it another name.
func RenameAggregate(ctx context.Context, tx store.Tx, id int64, name string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.aggregates SET name = $2, updated_at = now() WHERE id = $1`, id, name)
	return aggregateError(err, name)
}

// SetAggregateMetadata sets keys, and takes away those whose value is nil. A
// zone that would be empty, that contradicts another aggregate of a host, or
// that would change that of servers is faults.Invalid; why says of what action.
func SetAggregateMetadata(ctx context.Context, tx store.Tx, a *Aggregate, change map[string]*string, why string) error {
	if zone, named := change[zoneKey]; named {
		reason, err := a.mayNotHaveZone(ctx, tx, zone)
		if err != nil {
			return err
		}
		if reason != "" {
			return faults.New(faults.Invalid, "InvalidAggregateAction", "Cannot %s aggregate %d. Reason: %s.", why, a.ID, reason)
		}
	}
	set, unset := map[string]string{}, []string{}
	for key, value := range change {
		if value == nil {
			unset = append(unset, key)
		} else {
			set[key] = *value
		}
	}
	_, err := tx.Exec(ctx, `UPDATE compute.aggregates SET metadata = (metadata || $2) - $3::text[], updated_at = now() WHERE id = $1`, a.ID, set, unset)
	if err != nil {
		return store.Translate(err)
	}
	return settleZones(ctx, tx, a.ID)
}

// mayNotHaveZone says in the original's words why the aggregate may not have the
// zone; empty if it may. To take a zone away (nil) is no more possible there.
func (a *Aggregate) mayNotHaveZone(ctx context.Context, tx store.Tx, zone *string) (reason string, err error) {
	if zone == nil || *zone == "" {
		return fmt.Sprintf("Aggregate %s does not support empty named availability zone", a.Name), nil
	}
	if reason, err = inOtherZones(ctx, tx, a.ID, a.Hosts, *zone); err != nil || reason != "" || a.Zone() == *zone {
		return reason, err
	}
	var servers bool
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM compute.servers s JOIN compute.aggregate_hosts m ON m.host_id = s.host_id
		WHERE m.aggregate_id = $1 AND s.deleted_at IS NULL)`, a.ID).Scan(&servers)
	if err == nil && servers {
		reason = "One or more hosts contain instances in this zone"
	}
	return reason, store.Translate(err)
}

// inOtherZones says that other aggregates give these hosts other zones; empty
// if none does.
func inOtherZones(ctx context.Context, tx store.Tx, id int64, hosts []string, zone string) (reason string, err error) {
	rows, err := tx.Query(ctx, `SELECT DISTINCT a.metadata ->> '`+zoneKey+`' FROM compute.aggregates a
		JOIN compute.aggregate_hosts m ON m.aggregate_id = a.id JOIN compute.hosts h ON h.id = m.host_id
		WHERE a.id <> $1 AND h.name = ANY ($2) AND a.metadata ->> '`+zoneKey+`' <> $3`, id, hosts, zone)
	if err != nil {
		return "", store.Translate(err)
	}
	zones, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if len(zones) > 0 {
		reason = fmt.Sprintf("One or more hosts already in availability zone(s) ['%s']", strings.Join(zones, "', '"))
	}
	return reason, store.Translate(err)
}

// DeleteAggregate takes it away; faults.Invalid if hosts are in it.
func DeleteAggregate(ctx context.Context, tx store.Tx, a *Aggregate) error {
	if len(a.Hosts) > 0 {
		return faults.New(faults.Invalid, "InvalidAggregateActionDelete",
			"Cannot remove host from aggregate %d. Reason: Host aggregate is not empty.", a.ID)
	}
	_, err := tx.Exec(ctx, `DELETE FROM compute.aggregates WHERE id = $1`, a.ID)
	return store.Translate(err)
}

// AddToAggregate puts a host into it. faults.Conflict: it is in there, or its
// zone would contradict another aggregate or change under servers.
func AddToAggregate(ctx context.Context, tx store.Tx, a *Aggregate, h *Host) error {
	if zone := a.Zone(); zone != "" {
		reason, err := inOtherZones(ctx, tx, a.ID, []string{h.Name}, zone)
		if err != nil {
			return err
		}
		if reason == "" {
			reason = wouldMoveServers("added to", h, zone)
		}
		if reason != "" {
			return faults.New(faults.Conflict, "InvalidAggregateActionAdd", "Cannot add host to aggregate %d. Reason: %s.", a.ID, reason)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO compute.aggregate_hosts (aggregate_id, host_id) VALUES ($1, $2)`, a.ID, h.ID)
	if isUnique(err, "aggregate_hosts_pkey") {
		return faults.Wrap(err, faults.Conflict, "AggregateHostExists", "Aggregate %d already has host %s.", a.ID, h.Name)
	}
	if err != nil {
		return store.Translate(err)
	}
	return settleZones(ctx, tx, a.ID)
}

// RemoveFromAggregate takes a host out of it. faults.NotFound: it is not in
// there; faults.Conflict: the zone of servers on it would change.
func RemoveFromAggregate(ctx context.Context, tx store.Tx, a *Aggregate, h *Host) error {
	tag, err := tx.Exec(ctx, `DELETE FROM compute.aggregate_hosts WHERE aggregate_id = $1 AND host_id = $2`, a.ID, h.ID)
	if err != nil {
		return store.Translate(err)
	}
	if tag.RowsAffected() == 0 {
		return faults.New(faults.NotFound, "AggregateHostNotFound", "Aggregate %d has no host %s.", a.ID, h.Name)
	}
	after, err := settleZone(ctx, tx, h.ID)
	if err != nil {
		return err
	}
	if reason := wouldMoveServers("removed from", h, after); reason != "" {
		return faults.New(faults.Conflict, "InvalidAggregateActionDelete", "Cannot remove host from aggregate %d. Reason: %s.", a.ID, reason)
	}
	return nil
}

// wouldMoveServers says that the zone of a host with servers can't change; empty
// if it doesn't.
func wouldMoveServers(how string, h *Host, zone string) string {
	if h.Servers == 0 || h.AvailabilityZone == zone {
		return ""
	}
	return fmt.Sprintf("The host cannot be %s the aggregate as the availability zone of the host would change from '%s' to '%s' "+
		"but the host already has %d instance(s). Changing the AZ of an existing instance is not supported by this action. "+
		"Move the instances away from this host then try again. If you need to move the instances between AZs then you can use "+
		"shelve_offload and unshelve to achieve this", how, h.AvailabilityZone, zone, h.Servers)
}

// settleZones writes the zones of an aggregate's hosts.
func settleZones(ctx context.Context, tx store.Tx, aggregateID int64) error {
	_, err := tx.Exec(ctx, settle+` AND h.id IN (SELECT host_id FROM compute.aggregate_hosts WHERE aggregate_id = $1)`, aggregateID)
	return store.Translate(err)
}

// settleZone writes a host's zone and gives it.
func settleZone(ctx context.Context, tx store.Tx, hostID string) (zone string, err error) {
	err = tx.QueryRow(ctx, settle+` AND h.id = $1 RETURNING h.availability_zone`, hostID).Scan(&zone)
	return zone, store.Translate(err)
}

const settle = `UPDATE compute.hosts h SET availability_zone = COALESCE((SELECT a.metadata ->> '` + zoneKey + `'
	FROM compute.aggregates a JOIN compute.aggregate_hosts m ON m.aggregate_id = a.id
	WHERE m.host_id = h.id AND a.metadata ? '` + zoneKey + `' ORDER BY a.id LIMIT 1), h.own_zone) WHERE true`

// AggregateMetadata gives, by host id, the metadata of each aggregate of the host.
func AggregateMetadata(ctx context.Context, q store.Queryer) (map[string][]map[string]string, error) {
	rows, err := q.Query(ctx, `SELECT m.host_id::text, a.metadata FROM compute.aggregates a
		JOIN compute.aggregate_hosts m ON m.aggregate_id = a.id ORDER BY a.id`)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	of := map[string][]map[string]string{}
	for rows.Next() {
		var host string
		var metadata map[string]string
		if err := rows.Scan(&host, &metadata); err != nil {
			return nil, store.Translate(err)
		}
		of[host] = append(of[host], metadata)
	}
	return of, store.Translate(rows.Err())
}
