package orchestration

// Lists of stacks: a page is one query.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/internal/store"
)

// StackFilter says which stacks a list has, and in which order.
type StackFilter struct {
	// Project is whose; empty is everybody's.
	Project         string
	Deleted, Nested bool
	// Match has, by what it is of a stack, the values of which it must have one.
	Match map[string][]string
	// Tags must all be there, one of TagsAny; not all of NotTags, none of NotTagsAny.
	Tags, TagsAny, NotTags, NotTagsAny []string
	// Hidden are tags of which a stack that is listed has none, either.
	Hidden []string
	// Sort are the things to sort by; when it was made, if there are none.
	Sort      []string
	Ascending bool
	// Marker is the id of the last stack of the page before.
	Marker string
	// Limit is the most that there are; 0 is no bound.
	Limit int
}

// matchable are what a filter may name, as SQL.
var matchable = map[string]string{
	"id": "s.id::text", "name": "s.name", "action": "s.action", "username": "s.username", "parent": "COALESCE(s.parent_id::text, '')", "reason": "s.reason",
	"project": "s.project_id", "rollback": "CASE WHEN s.disable_rollback THEN 'true' ELSE 'false' END", "timeout": "COALESCE(s.timeout_mins::text, '')",
	"user_project": "COALESCE(s.stack_user_project_id::text, '')",
}

// sortable are what a list may be sorted by, as SQL; none of it is ever null.
var sortable = map[string]string{
	"name": "s.name", "status": "s.status", "created": "s.created_at", "updated": "COALESCE(s.updated_at, s.created_at)",
}

// conditions are the filter as SQL, and its arguments.
func (f StackFilter) conditions() (where []string, args []any) {
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args))))
	}
	where = append(where, "true")
	if f.Project != "" {
		add("s.project_id = ?", f.Project)
	}
	if !f.Deleted {
		where = append(where, "s.deleted_at IS NULL")
	}
	if !f.Nested && len(f.Match["parent"]) == 0 {
		where = append(where, "s.parent_id IS NULL")
	}
	for what, values := range f.Match {
		switch column, ok := matchable[what]; {
		case ok:
			add(column+" = ANY (?)", values)
		case what == "status":
			add("(s.status = ANY (?) OR s.action || '_' || s.status = ANY (?))", values)
		}
	}
	for _, tags := range []struct {
		condition string
		tags      []string
	}{{"s.tags @> ?", f.Tags}, {"s.tags && ?", f.TagsAny}, {"NOT s.tags @> ?", f.NotTags}, {"NOT s.tags && ?", f.NotTagsAny}, {"NOT s.tags && ?", f.Hidden}} {
		if len(tags.tags) > 0 {
			add(tags.condition, tags.tags)
		}
	}
	return where, args
}

// ListStacks gives a page of stacks. A marker that is none begins at the beginning,
// as the original has it.
func ListStacks(ctx context.Context, q store.Queryer, f StackFilter) ([]*Stack, error) {
	where, args := f.conditions()
	var keys []string
	for _, name := range f.Sort {
		if column, ok := sortable[name]; ok {
			keys = append(keys, column)
		}
	}
	if len(keys) == 0 {
		keys = []string{sortable["created"]}
	}
	keys = append(keys, "s.id")
	direction, beyond := "DESC", "<"
	if f.Ascending {
		direction, beyond = "ASC", ">"
	}
	if uuid.Validate(f.Marker) == nil {
		args = append(args, f.Marker)
		marked := strings.ReplaceAll(strings.Join(keys, ", "), "s.", "m.")
		where = append(where, fmt.Sprintf(`COALESCE((%s) %s (SELECT %s FROM orchestration.stacks m WHERE m.id = $%d), true)`,
			strings.Join(keys, ", "), beyond, marked, len(args)))
	}
	order := slices.Clone(keys)
	for i := range order {
		order[i] += " " + direction
	}
	sql := `WHERE ` + strings.Join(where, " AND ") + ` ORDER BY ` + strings.Join(order, ", ")
	if f.Limit > 0 {
		sql += fmt.Sprintf(" LIMIT %d", f.Limit)
	}
	return stacksOf(ctx, q, sql, args...)
}

// CountListed is how many stacks a list has in all.
func CountListed(ctx context.Context, q store.Queryer, f StackFilter) (n int, err error) {
	where, args := f.conditions()
	err = q.QueryRow(ctx, `SELECT count(*) FROM orchestration.stacks s WHERE `+strings.Join(where, " AND "), args...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count stacks: %w", store.Translate(err))
	}
	return n, nil
}
