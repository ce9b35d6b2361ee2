package compute

// What users say of servers: names, locks, tags; and what was done to servers
// without an operation.

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/internal/store"
)

// ServerChange is what PUT /servers/{id} changes; nil fields stay.
type ServerChange struct {
	Name, Hostname, DiskConfig *string
	AccessIPv4, AccessIPv6     *string
	// Description and Zone may be set to nothing, by a pointer to nil and to "".
	Description **string
	Zone        *string
}

// ChangeServer changes a live server.
func ChangeServer(ctx context.Context, tx store.Tx, id string, c ServerChange) error {
	var set []string
	var args []any
	add := func(column string, value any) {
		args = append(args, value)
		set = append(set, fmt.Sprintf(column, len(args)+1))
	}
	for _, text := range []struct {
		column string
		value  *string
	}{
		{"name = $%d", c.Name}, {"hostname = $%d", c.Hostname}, {"disk_config = $%d", c.DiskConfig}, {"availability_zone = $%d", c.Zone},
		{"access_ip_v4 = NULLIF($%d, '')::inet", c.AccessIPv4}, {"access_ip_v6 = NULLIF($%d, '')::inet", c.AccessIPv6},
	} {
		if text.value != nil {
			add(text.column, *text.value)
		}
	}
	if c.Description != nil {
		add("description = $%d", *c.Description)
	}
	if len(set) == 0 {
		return nil
	}
	return changeServer(ctx, tx, id, strings.Join(set, ", "), args...)
}

// LockForUsers keeps users' actions from a server, or with by "" lets them be.
func LockForUsers(ctx context.Context, tx store.Tx, id, by string, reason *string) error {
	return changeServer(ctx, tx, id, `locked = $2 <> '', locked_by = NULLIF($2, ''), locked_reason = $3`, by, reason)
}

// AddTag gives a server a tag and says whether it is new.
func AddTag(ctx context.Context, tx store.Tx, id, tag string) (bool, error) {
	t, err := tx.Exec(ctx, `INSERT INTO compute.server_tags (server_id, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, tag)
	return t.RowsAffected() > 0, store.Translate(err)
}

// RemoveTag takes a tag away and says whether there was one.
func RemoveTag(ctx context.Context, tx store.Tx, id, tag string) (bool, error) {
	t, err := tx.Exec(ctx, `DELETE FROM compute.server_tags WHERE server_id = $1 AND tag = $2`, id, tag)
	return t.RowsAffected() > 0, store.Translate(err)
}

// SetTags gives a server these tags and no other.
func SetTags(ctx context.Context, tx store.Tx, id string, tags []string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM compute.server_tags WHERE server_id = $1`, id); err != nil {
		return store.Translate(err)
	}
	_, err := tx.Exec(ctx, `INSERT INTO compute.server_tags (server_id, tag) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`, id, tags)
	return store.Translate(err)
}

// ServerAction is something that was done to a server within a request.
type ServerAction struct {
	ServerID, RequestID, Action, ProjectID, UserID string
	DoneAt                                         time.Time
}

// RecordAction notes an action.
func RecordAction(ctx context.Context, tx store.Tx, a ServerAction) error {
	_, err := tx.Exec(ctx, `INSERT INTO compute.server_actions (server_id, request_id, action, project_id, user_id)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, a.ServerID, a.RequestID, a.Action, a.ProjectID, a.UserID)
	return store.Translate(err)
}

// ServerActions gives what was done to a server, newest first.
func ServerActions(ctx context.Context, q store.Queryer, serverID string) ([]*ServerAction, error) {
	rows, err := q.Query(ctx, `SELECT server_id::text, request_id, action, project_id, user_id, done_at
		FROM compute.server_actions WHERE server_id = $1 ORDER BY done_at DESC`, serverID)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, func(a *ServerAction) []any {
		return []any{&a.ServerID, &a.RequestID, &a.Action, &a.ProjectID, &a.UserID, &a.DoneAt}
	})
}
