package compute

// Limits that administrators set: of projects, of their users, of classes.

import (
	"context"
	"maps"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// defaultClass is the only class of quotas that counts.
const defaultClass = "default"

// Limits are all limits of a project by resource: its own before the default
// class's before the configuration's. "" is a project without its own.
func Limits(ctx context.Context, q store.Queryer, projectID string) (map[string]int64, error) {
	return UserLimits(ctx, q, projectID, "")
}

// UserLimits are the limits of a user in a project, the project's where the
// user has none; userID "" is nobody.
func UserLimits(ctx context.Context, q store.Queryer, projectID, userID string) (map[string]int64, error) {
	return limits(ctx, q, `SELECT resource, hard_limit FROM compute.quota_limits
		WHERE (project_id, user_id, class) IN (($1, $2, ''), ($1, '', ''), ('', '', 'default')) AND (project_id <> '' OR class <> '')
		ORDER BY project_id, user_id`, projectID, userID)
}

// ClassLimits are the limits of a class, the configuration's where it has none.
func ClassLimits(ctx context.Context, q store.Queryer, class string) (map[string]int64, error) {
	return limits(ctx, q, `SELECT resource, hard_limit FROM compute.quota_limits WHERE class = $1 AND class <> ''`, class)
}

// limits puts the rows of a query over the defaults, the last on top.
func limits(ctx context.Context, q store.Queryer, sql string, args ...any) (map[string]int64, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	all := maps.Clone(DefaultQuotas)
	for rows.Next() {
		var resource string
		var limit int64
		if err := rows.Scan(&resource, &limit); err != nil {
			return nil, store.Translate(err)
		}
		all[resource] = limit
	}
	return all, store.Translate(rows.Err())
}

// SetLimit gives a project a limit of its own for a resource of DefaultQuotas;
// -1 is no limit.
func SetLimit(ctx context.Context, tx store.Tx, projectID, resource string, limit int64) error {
	return SetUserLimit(ctx, tx, projectID, "", resource, limit)
}

// SetUserLimit is SetLimit for a user in a project; userID "" is the project.
func SetUserLimit(ctx context.Context, tx store.Tx, projectID, userID, resource string, limit int64) error {
	if projectID == "" {
		return faults.New(faults.Invalid, "InvalidQuota", "a limit needs a project")
	}
	return setLimit(ctx, tx, projectID, userID, "", resource, limit)
}

// SetClassLimit gives a class a limit.
func SetClassLimit(ctx context.Context, tx store.Tx, class, resource string, limit int64) error {
	if class == "" {
		class = defaultClass
	}
	return setLimit(ctx, tx, "", "", class, resource, limit)
}

func setLimit(ctx context.Context, tx store.Tx, projectID, userID, class, resource string, limit int64) error {
	if _, ok := DefaultQuotas[resource]; !ok || limit < -1 {
		return faults.New(faults.Invalid, "InvalidQuota", "there is no quota %q, or %d is no limit for it", resource, limit)
	}
	_, err := tx.Exec(ctx, `INSERT INTO compute.quota_limits (project_id, user_id, class, resource, hard_limit) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (project_id, user_id, class, resource) DO UPDATE SET hard_limit = $5`, projectID, userID, class, resource, limit)
	return store.Translate(err)
}

// ClearLimits takes a project's limits away, its users' with them, or with
// userID only that user's; the defaults hold again.
func ClearLimits(ctx context.Context, tx store.Tx, projectID, userID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM compute.quota_limits WHERE project_id = $1 AND class = '' AND ($2 = '' OR user_id = $2)`,
		projectID, userID)
	return store.Translate(err)
}

// Used is what a project uses by resource, of those that are counted.
func Used(ctx context.Context, q store.Queryer, projectID string) (map[string]int64, error) {
	_, used, err := Usage(ctx, q, projectID)
	return used.byResource(), err
}

// UserUsed is what a user of a project uses by resource; userID "" is Used.
func UserUsed(ctx context.Context, q store.Queryer, projectID, userID string) (map[string]int64, error) {
	if userID == "" {
		return Used(ctx, q, projectID)
	}
	used, err := userUsage(ctx, q, projectID, userID)
	return used.byResource(), err
}

func (d Delta) byResource() map[string]int64 {
	return map[string]int64{"instances": d.Instances, "cores": d.Cores, "ram": d.RAMMB}
}

// PromisedToUsers sums up by resource what the users of a project have as limits
// of their own, but for one user; limits that are none don't count.
func PromisedToUsers(ctx context.Context, q store.Queryer, projectID, but string) (map[string]int64, error) {
	rows, err := q.Query(ctx, `SELECT resource, sum(hard_limit)::bigint FROM compute.quota_limits
		WHERE project_id = $1 AND user_id NOT IN ('', $2) AND class = '' AND hard_limit > 0 GROUP BY resource`, projectID, but)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	sums := map[string]int64{}
	for rows.Next() {
		var resource string
		var sum int64
		if err := rows.Scan(&resource, &sum); err != nil {
			return nil, store.Translate(err)
		}
		sums[resource] = sum
	}
	return sums, store.Translate(rows.Err())
}
