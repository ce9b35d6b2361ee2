package compute

// Lists of servers: one query a page, however much each server shows.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// ListFilter narrows and orders a list of servers. Zero fields don't.
type ListFilter struct {
	// ProjectID "" lists all projects.
	ProjectID string
	UserID    string
	// Match has regular expressions by keys of Patterns.
	Match      map[string]string
	IDs        []string
	VMStates   []servers.VMState
	TaskStates []servers.TaskState
	// Host is a host's name.
	Host        string
	ImageID     string
	FlavorID    string
	Locked      *bool
	ConfigDrive *bool
	// IPv4 and IPv6 match anywhere in addresses of bound ports, as regular
	// expressions.
	IPv4, IPv6 string
	// AllTags are all there, of AnyTags one at least; NotAllTags aren't all
	// there, of NotAnyTags none is.
	AllTags, AnyTags, NotAllTags, NotAnyTags []string
	// ChangesSince and ChangesBefore bound updated_at, inclusive.
	ChangesSince, ChangesBefore *time.Time
	// Deleted true lists deleted servers only, and false none of them; nil is
	// false, but both with a bound of changes.
	Deleted *bool
	// SoftDeleted true lists soft-deleted servers beside others, false none of
	// them; nil lists them as deleted ones.
	SoftDeleted *bool

	// Sort is by created_at, newest first, if empty; the id breaks every tie.
	Sort []SortKey
	// Marker is the id of the last server of the page before.
	Marker string
	// Limit 0 is no limit.
	Limit int
}

// SortKey orders by one column of SortKeys.
type SortKey struct {
	Key       string
	Ascending bool
}

// SortKeys are the names that lists of servers can be ordered by, each with an
// expression that is never null.
var SortKeys = map[string]string{
	"created_at":          "s.created_at",
	"updated_at":          "s.updated_at",
	"launched_at":         "COALESCE(s.launched_at, '-infinity')",
	"display_name":        "s.name",
	"display_description": "COALESCE(s.description, '')",
	"uuid":                "s.id",
	"project_id":          "s.project_id",
	"user_id":             "s.user_id",
	"host":                "COALESCE(h.name, '')",
	"image_ref":           "s.image_id",
	"instance_type_id":    "s.flavor->>'id'",
	"key_name":            "COALESCE(s.key_name, '')",
	"availability_zone":   "s.availability_zone",
	"vm_state":            "s.vm_state",
	"task_state":          "COALESCE(s.task_state, '')",
	"power_state":         "s.power_state",
	"progress":            "s.progress",
	"locked_by":           "COALESCE(s.locked_by, '')",
	"root_device_name":    "''::text",
	"kernel_id":           "''::text",
	"ramdisk_id":          "''::text",
	"access_ip_v4":        "COALESCE(host(s.access_ip_v4), '')",
	"access_ip_v6":        "COALESCE(host(s.access_ip_v6), '')",
	"auto_disk_config":    "s.disk_config",
	"config_drive":        "s.config_drive",
	"hostname":            "s.hostname",
	"launch_index":        "s.launch_index",
	"locked":              "s.locked",
	"node":                "COALESCE(h.name, '')",
	"terminated_at":       "COALESCE(s.terminated_at, '-infinity')",
}

// Patterns are what lists of servers can be narrowed by with regular expressions
// that match anywhere, each with its text.
var Patterns = map[string]string{
	"display_name":        "s.name",
	"display_description": "COALESCE(s.description, '')",
	"hostname":            "s.hostname",
	"key_name":            "COALESCE(s.key_name, '')",
	"availability_zone":   "COALESCE(h.availability_zone, s.availability_zone)",
	"reservation_id":      "s.reservation_id",
	"node":                "COALESCE(h.name, '')",
	"power_state":         "s.power_state::text",
	"progress":            "s.progress::text",
	"launch_index":        "s.launch_index::text",
	"locked_by":           "COALESCE(s.locked_by, '')",
	"kernel_id":           "COALESCE(s.image_properties->>'kernel_id', '')",
	"ramdisk_id":          "COALESCE(s.image_properties->>'ramdisk_id', '')",
	"access_ip_v4":        "COALESCE(host(s.access_ip_v4), '')",
	"access_ip_v6":        "COALESCE(host(s.access_ip_v6), '')",
	"auto_disk_config":    "CASE s.disk_config WHEN 'AUTO' THEN '1' ELSE '0' END",
	"created_at":          timeText("s.created_at"),
	"launched_at":         timeText("s.launched_at"),
	"terminated_at":       timeText("s.terminated_at"),
}

// timeText is a time as databases write it, in UTC; empty for never.
func timeText(column string) string {
	return "COALESCE(to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), '')"
}

// ListServers gives a page of servers. A marker that is no server of the
// filter's project, and a sort key that isn't one, are faults.Invalid.
func ListServers(ctx context.Context, q store.Queryer, f ListFilter) ([]*Server, error) {
	keys, err := f.keys()
	if err != nil {
		return nil, err
	}
	if f.Marker != "" && !isUUID(f.Marker) {
		return nil, markerNotFound(f.Marker)
	}
	var c conditions
	f.narrow(&c)
	with := ""
	if f.Marker != "" {
		with = f.after(&c, keys)
	}
	sql := with + `SELECT ` + serverColumns + serverFrom + c.where() + ` ORDER BY ` + orderBy(keys) + ` LIMIT ` + c.arg(limit(f.Limit))
	rows, err := q.Query(ctx, sql, c.args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	page, err := scanServers(rows)
	if isInvalidRegexp(err) {
		return nil, faults.Wrap(err, faults.Invalid, "InvalidFilter", "a filter is not a regular expression")
	}
	if err != nil {
		return nil, err
	}
	if len(page) == 0 && f.Marker != "" {
		return nil, f.checkMarker(ctx, q)
	}
	return page, nil
}

// checkMarker tells an end of the list from a marker that isn't there; deleted
// servers are markers too, since one may go while a client turns the page.
func (f ListFilter) checkMarker(ctx context.Context, q store.Queryer) error {
	var there bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM compute.servers WHERE id = $1 AND ($2 = '' OR project_id = $2))`,
		f.Marker, f.ProjectID).Scan(&there)
	if err == nil && !there {
		return markerNotFound(f.Marker)
	}
	return store.Translate(err)
}

// narrowByDeletion: one that is soft-deleted is among the deleted ones, unless
// the filter says otherwise.
func (f ListFilter) narrowByDeletion(c *conditions) {
	switch {
	case f.Deleted != nil && *f.Deleted && (f.SoftDeleted == nil || *f.SoftDeleted):
		c.add("(s.deleted_at IS NOT NULL OR s.vm_state = 'soft-delete')")
	case f.Deleted != nil && *f.Deleted:
		c.add("s.deleted_at IS NOT NULL")
	case f.Deleted != nil, f.ChangesSince == nil && f.ChangesBefore == nil:
		c.add("s.deleted_at IS NULL")
		if f.SoftDeleted == nil || !*f.SoftDeleted {
			c.add("s.vm_state <> 'soft-delete'")
		}
	}
}

// narrow adds the filter's conditions.
func (f ListFilter) narrow(c *conditions) {
	equal := func(column, value string) {
		if value != "" {
			c.add(column + " = " + c.arg(value))
		}
	}
	f.narrowByDeletion(c)
	equal("s.project_id", f.ProjectID)
	equal("s.user_id", f.UserID)
	equal("h.name", f.Host)
	equal("s.image_id", f.ImageID)
	equal("s.flavor->>'id'", f.FlavorID)
	for _, name := range slices.Sorted(maps.Keys(f.Match)) {
		c.add(Patterns[name] + " ~ " + c.arg(f.Match[name]))
	}
	for family, pattern := range map[int]string{4: f.IPv4, 6: f.IPv6} {
		if pattern != "" {
			c.add(fmt.Sprintf(`EXISTS (SELECT FROM compute.server_ports p, jsonb_to_recordset(p.fixed_ips) AS ip (ip_address inet)
				WHERE p.server_id = s.id AND p.bound AND family(ip_address) = %d AND host(ip_address) ~ %s)`, family, c.arg(pattern)))
		}
	}
	f.narrowByTags(c)
	if f.ConfigDrive != nil {
		c.add("s.config_drive = " + c.arg(*f.ConfigDrive))
	}
	if f.IDs != nil {
		c.add("s.id = ANY(" + c.arg(slices.DeleteFunc(slices.Clone(f.IDs), func(id string) bool { return !isUUID(id) })) + ")")
	}
	if f.VMStates != nil {
		c.add("s.vm_state = ANY(" + c.arg(f.VMStates) + ")")
	}
	if f.TaskStates != nil {
		c.add("COALESCE(s.task_state, '') = ANY(" + c.arg(f.TaskStates) + ")")
	}
	if f.Locked != nil {
		c.add("s.locked = " + c.arg(*f.Locked))
	}
	if f.ChangesSince != nil {
		c.add("s.updated_at >= " + c.arg(*f.ChangesSince))
	}
	if f.ChangesBefore != nil {
		c.add("s.updated_at <= " + c.arg(*f.ChangesBefore))
	}
}

// narrowByTags counts the tags of each list that a server has.
func (f ListFilter) narrowByTags(c *conditions) {
	for _, t := range []struct {
		tags      []string
		condition string
	}{
		{f.AllTags, " = %d"}, {f.AnyTags, " > 0"}, {f.NotAllTags, " < %d"}, {f.NotAnyTags, " = 0"},
	} {
		if len(t.tags) == 0 {
			continue
		}
		tags := slices.Compact(slices.Sorted(slices.Values(t.tags)))
		condition := strings.ReplaceAll(t.condition, "%d", fmt.Sprint(len(tags)))
		c.add("(SELECT count(*) FROM compute.server_tags t WHERE t.server_id = s.id AND t.tag = ANY (" + c.arg(tags) + "))" + condition)
	}
}

// keys are the expressions to order by, made unique by created_at and id in
// the direction of the first.
func (f ListFilter) keys() ([]key, error) {
	sort := f.Sort
	tie := len(sort) > 0 && sort[0].Ascending
	sort = append(sort[:len(sort):len(sort)], SortKey{"created_at", tie}, SortKey{"uuid", tie})
	var keys []key
	seen := map[string]bool{}
	for _, k := range sort {
		expression, ok := SortKeys[k.Key]
		if !ok {
			return nil, faults.New(faults.Invalid, "InvalidSortKey", "Invalid sort key %s", k.Key)
		}
		if !seen[k.Key] {
			seen[k.Key] = true
			keys = append(keys, key{expression, k.Ascending})
		}
	}
	return keys, nil
}

// key is one expression of an order.
type key struct {
	expression string
	ascending  bool
}

func orderBy(keys []key) string {
	words := make([]string, len(keys))
	for i, k := range keys {
		words[i] = k.expression + " DESC"
		if k.ascending {
			words[i] = k.expression
		}
	}
	return strings.Join(words, ", ")
}

// after adds the condition that a row comes after the marker, and gives the
// WITH clause that holds the marker's values. Keys of one direction are one row
// comparison, which an index can serve; mixed ones are spelled out.
func (f ListFilter) after(c *conditions, keys []key) string {
	values, columns, expressions := make([]string, len(keys)), make([]string, len(keys)), make([]string, len(keys))
	mixed := false
	for i, k := range keys {
		columns[i] = fmt.Sprintf("%s AS k%d", k.expression, i)
		values[i] = fmt.Sprintf("(SELECT k%d FROM marker)", i)
		expressions[i] = k.expression
		mixed = mixed || k.ascending != keys[0].ascending
	}
	if !mixed {
		c.add("(" + strings.Join(expressions, ", ") + ")" + beyond(keys[0]) + "(" + strings.Join(values, ", ") + ")")
	} else {
		var either []string
		same := ""
		for i, k := range keys {
			either = append(either, same+k.expression+beyond(k)+values[i])
			same += k.expression + " = " + values[i] + " AND "
		}
		c.add("(" + strings.Join(either, " OR ") + ")")
	}
	return `WITH marker AS MATERIALIZED (SELECT ` + strings.Join(columns, ", ") + `
		FROM compute.servers s LEFT JOIN compute.hosts h ON h.id = s.host_id WHERE s.id = ` + c.arg(f.Marker) +
		f.inProject(c) + `) `
}

// inProject keeps another project's server from being a marker.
func (f ListFilter) inProject(c *conditions) string {
	if f.ProjectID == "" {
		return ""
	}
	return " AND s.project_id = " + c.arg(f.ProjectID)
}

func beyond(k key) string {
	if k.ascending {
		return " > "
	}
	return " < "
}

// conditions collects a WHERE clause and its arguments.
type conditions struct {
	all  []string
	args []any
}

func (c *conditions) add(condition string) { c.all = append(c.all, condition) }

// arg adds an argument and gives its place in the statement.
func (c *conditions) arg(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

func (c *conditions) where() string {
	if len(c.all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.all, " AND ")
}
