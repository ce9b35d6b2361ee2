package compute

// Server groups: servers that are to be near to or far from each other.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// ServerGroup is a row of compute.server_groups and the ids of its servers that
// are not deleted.
type ServerGroup struct {
	ID, ProjectID, UserID, Name string
	// Policy is one of scheduler's.
	Policy string
	// MaxServerPerHost is a rule of anti-affinity; 0 is none.
	MaxServerPerHost int
	Members          []string
}

const groupColumns = `g.id, g.project_id, g.user_id, g.name, g.policy, COALESCE(g.max_server_per_host, 0),
	ARRAY(SELECT m.server_id::text FROM compute.server_group_members m JOIN compute.servers s ON s.id = m.server_id
		WHERE m.group_id = g.id AND s.deleted_at IS NULL ORDER BY s.created_at, s.id)`

func (g *ServerGroup) fields() []any {
	return []any{&g.ID, &g.ProjectID, &g.UserID, &g.Name, &g.Policy, &g.MaxServerPerHost, &g.Members}
}

// CreateServerGroup adds a group within most of its project (-1: no limit), and
// fills in its id. faults.OverLimit: there would be one too many.
func CreateServerGroup(ctx context.Context, tx store.Tx, g *ServerGroup, most int64) error {
	// One at a time of a project, so that the count holds.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "server groups of "+g.ProjectID); err != nil {
		return store.Translate(err)
	}
	n, err := CountServerGroups(ctx, tx, g.ProjectID)
	if err != nil {
		return err
	}
	if most >= 0 && n >= most {
		return faults.New(faults.OverLimit, "ServerGroupLimitExceeded", "Quota exceeded, too many server groups.")
	}
	err = tx.QueryRow(ctx, `INSERT INTO compute.server_groups (project_id, user_id, name, policy, max_server_per_host)
		VALUES ($1, $2, $3, $4, NULLIF($5, 0)) RETURNING id`, g.ProjectID, g.UserID, g.Name, g.Policy, g.MaxServerPerHost).Scan(&g.ID)
	return store.Translate(err)
}

// CountServerGroups says how many a project has.
func CountServerGroups(ctx context.Context, q store.Queryer, projectID string) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM compute.server_groups WHERE project_id = $1`, projectID).Scan(&n)
	return n, store.Translate(err)
}

// GetServerGroup gives a group; LockServerGroup keeps others from joining it and
// from claiming room for its servers until the transaction ends.
func GetServerGroup(ctx context.Context, q store.Queryer, id string) (*ServerGroup, error) {
	return oneServerGroup(ctx, q, id, "")
}

// LockServerGroup see GetServerGroup.
func LockServerGroup(ctx context.Context, tx store.Tx, id string) (*ServerGroup, error) {
	return oneServerGroup(ctx, tx, id, " FOR NO KEY UPDATE OF g")
}

// LockGroupOf is LockServerGroup of a server's group; nil if it has none.
func LockGroupOf(ctx context.Context, tx store.Tx, serverID string) (*ServerGroup, error) {
	var id string
	err := tx.QueryRow(ctx, `SELECT group_id::text FROM compute.server_group_members WHERE server_id = $1`, serverID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	g, err := LockServerGroup(ctx, tx, id)
	if faults.Is(err, faults.NotFound) {
		return nil, nil // deleted meanwhile
	}
	return g, err
}

// GroupHosts counts a group's servers but one by the hosts on which they hold room.
func GroupHosts(ctx context.Context, q store.Queryer, groupID, but string) (map[string]int, error) {
	rows, err := q.Query(ctx, `SELECT a.host_id::text, count(DISTINCT a.server_id) FROM compute.allocations a
		JOIN compute.server_group_members m ON m.server_id = a.server_id
		WHERE m.group_id = $1 AND a.server_id <> $2 GROUP BY a.host_id`, groupID, but)
	if err != nil {
		return nil, store.Translate(err)
	}
	return pairs[int](rows)
}

func oneServerGroup(ctx context.Context, q store.Queryer, id, lock string) (*ServerGroup, error) {
	notFound := faults.New(faults.NotFound, "InstanceGroupNotFound", "Instance group %s could not be found.", id)
	if !isUUID(id) {
		return nil, notFound
	}
	g := &ServerGroup{}
	err := q.QueryRow(ctx, `SELECT `+groupColumns+` FROM compute.server_groups g WHERE g.id = $1`+lock, id).Scan(g.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, notFound
	}
	return g, store.Translate(err)
}

// ListServerGroups gives a page of a project's groups ("" is every project's),
// oldest first. limit 0 is none.
func ListServerGroups(ctx context.Context, q store.Queryer, projectID string, offset, most int) ([]*ServerGroup, error) {
	rows, err := q.Query(ctx, `SELECT `+groupColumns+` FROM compute.server_groups g
		WHERE $1 = '' OR g.project_id = $1 ORDER BY g.number OFFSET $2 LIMIT $3`, projectID, offset, limit(most))
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*ServerGroup).fields)
}

// DeleteServerGroup takes a group away; its servers stay.
func DeleteServerGroup(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM compute.server_groups WHERE id = $1`, id)
	return store.Translate(err)
}

// JoinServerGroup makes servers members of a locked group, within most members
// (-1: no limit). faults.OverLimit: there would be too many.
func JoinServerGroup(ctx context.Context, tx store.Tx, g *ServerGroup, most int64, serverIDs ...string) error {
	if most >= 0 && int64(len(g.Members)+len(serverIDs)) > most {
		return faults.New(faults.OverLimit, "OverQuota", "Quota exceeded, too many servers in group")
	}
	_, err := tx.Exec(ctx, `INSERT INTO compute.server_group_members (server_id, group_id) SELECT unnest($1::uuid[]), $2`, serverIDs, g.ID)
	return store.Translate(err)
}

// GroupsOf gives, by server id, the group of each of these servers that has one.
func GroupsOf(ctx context.Context, q store.Queryer, serverIDs ...string) (map[string]string, error) {
	rows, err := q.Query(ctx, `SELECT server_id::text, group_id::text FROM compute.server_group_members WHERE server_id = ANY ($1::uuid[])`, serverIDs)
	if err != nil {
		return nil, store.Translate(err)
	}
	return pairs[string](rows)
}

// HostsOf gives the hosts, one for each server, on which these servers hold room; ids
// that are no server's are left out.
func HostsOf(ctx context.Context, q store.Queryer, serverIDs ...string) ([]string, error) {
	ids := []string{}
	for _, id := range serverIDs {
		if isUUID(id) {
			ids = append(ids, id)
		}
	}
	rows, err := q.Query(ctx, `SELECT host_id::text FROM compute.allocations WHERE consumer_id = ANY ($1::uuid[])`, ids)
	if err != nil {
		return nil, store.Translate(err)
	}
	hosts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return hosts, store.Translate(err)
}
