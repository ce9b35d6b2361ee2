package image

// Lists: which images, in which order, and pages.

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// Images on a page: without a wish, and at most.
const usualPage, longestPage = 25, 1000

// columnOf is where the fields are that have columns; others are in document.
var columnOf = map[string]string{"id": "i.id::text", "owner": "i.owner", "status": "i.status", "visibility": "i.visibility",
	"protected": "i.protected::text", "created_at": "i.created_at", "updated_at": "i.updated_at"}

// sortColumn is what a list may be in the order of.
var sortColumn = map[string]string{"id": "i.id", "name": "i.document->>'name'", "status": "i.status", "size": "(i.document->>'size')::numeric",
	"container_format": "i.document->>'container_format'", "disk_format": "i.document->>'disk_format'", "created_at": "i.created_at", "updated_at": "i.updated_at",
	"min_disk": "(i.document->>'min_disk')::numeric", "min_ram": "(i.document->>'min_ram')::numeric", "owner": "i.owner",
	"visibility": "i.visibility", "protected": "i.protected"}

// severalOf may be asked for by "in:a,b".
var severalOf = []string{"container_format", "disk_format", "id", "name", "status"}

// statement is a list in the making.
type statement struct {
	where []string
	args  []any
}

// arg adds an argument and gives its place.
func (q *statement) arg(value any) string {
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args))
}

func (q *statement) and(format string, args ...any) {
	q.where = append(q.where, fmt.Sprintf(format, args...))
}

func (s *Service) list(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	query := r.URL.Query()
	limit, err := pageOf(query)
	if err != nil {
		return err
	}
	order, err := orderOf(query)
	if err != nil {
		return err
	}
	q, err := choose(caller, query)
	if err != nil {
		return err
	}
	page := ""
	if marker := query.Get("marker"); marker != "" {
		// The marker must be seen, or it would tell what else there is.
		if _, err := s.get(r.Context(), caller, marker); err != nil {
			return service.Fail(http.StatusBadRequest, "Marker %s could not be found.", bounded(marker))
		}
		page = ` WHERE place > (SELECT place FROM chosen WHERE id = ` + q.arg(uuid.MustParse(marker)) + `)`
	}
	rows, err := s.Pool.Query(r.Context(), `WITH chosen AS (SELECT i.*, row_number() OVER (ORDER BY `+order+`) AS place FROM image.images i WHERE `+
		strings.Join(q.where, " AND ")+`) SELECT `+columns+` FROM chosen`+page+fmt.Sprintf(` ORDER BY place LIMIT %d`, limit+1), q.args...)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return err
	}
	shown := []map[string]any{}
	for _, i := range found[:min(limit, len(found))] {
		shown = append(shown, i.view())
	}
	answer := map[string]any{"images": shown, "schema": "/v2/schemas/images", "first": "/v2/images"}
	query.Del("marker")
	if len(query) > 0 {
		answer["first"] = "/v2/images?" + query.Encode()
	}
	if len(found) > limit && limit > 0 {
		query.Set("marker", found[limit-1].ID)
		answer["next"] = "/v2/images?" + query.Encode()
	}
	return service.JSON(w, http.StatusOK, answer)
}

func pageOf(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return usualPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, service.Fail(http.StatusBadRequest, "limit param must be an integer")
	}
	if n < 0 {
		return 0, service.Fail(http.StatusBadRequest, "limit param must be positive")
	}
	return min(n, longestPage), nil
}

// orderOf reads sort=name:asc,size or the older sort_key and sort_dir; what
// they leave open is newest first.
func orderOf(query url.Values) (string, error) {
	keys, directions := query["sort_key"], query["sort_dir"]
	if sort := query.Get("sort"); sort != "" {
		if len(keys)+len(directions) > 0 {
			return "", service.Fail(http.StatusBadRequest, "Old and new sorting syntax cannot be combined")
		}
		for _, one := range strings.Split(sort, ",") {
			key, direction, given := strings.Cut(strings.TrimSpace(one), ":")
			if !given {
				direction = "desc"
			}
			keys, directions = append(keys, key), append(directions, direction)
		}
	}
	if len(directions) > 1 && len(directions) != len(keys) {
		return "", service.Fail(http.StatusBadRequest, "Number of sort dirs does not match the number of sort keys")
	}
	var order []string
	for n, key := range keys {
		column, known := sortColumn[key]
		if !known {
			return "", service.Fail(http.StatusBadRequest, "Invalid sort key: %s. It must be one of the following: %s.", bounded(key), strings.Join(slices.Sorted(maps.Keys(sortColumn)), ", "))
		}
		direction := "desc"
		if len(directions) > 0 {
			direction = directions[min(n, len(directions)-1)]
		}
		if direction != "asc" && direction != "desc" {
			return "", service.Fail(http.StatusBadRequest, "Invalid sort direction: %s", bounded(direction))
		}
		order = append(order, column+" "+direction+" NULLS LAST")
	}
	return strings.Join(append(order, "i.seq DESC"), ", "), nil
}

// choose reads the filters: every word but those that say how to list.
func choose(caller *service.Caller, query url.Values) (*statement, error) {
	q := &statement{}
	status, err := memberStatus(query)
	if err != nil {
		return nil, err
	}
	if err := q.visible(caller, query, status); err != nil {
		return nil, err
	}
	hidden := "false"
	if query.Has("os_hidden") {
		if hidden, err = flagOf("os_hidden", query.Get("os_hidden")); err != nil {
			return nil, err
		}
	}
	q.and("coalesce(i.document->>'os_hidden', 'false') = %s", q.arg(hidden))
	for name, values := range query {
		if slices.Contains([]string{"limit", "marker", "sort", "sort_key", "sort_dir", "visibility", "member_status", "os_hidden"}, name) {
			continue
		}
		for _, value := range values {
			if err := q.filter(name, value); err != nil {
				return nil, err
			}
		}
	}
	return q, nil
}

// flagOf reads a filter that is true or false, which clients write in any case.
func flagOf(name, value string) (string, error) {
	if lower := strings.ToLower(value); lower == "true" || lower == "false" {
		return lower, nil
	}
	return "", service.Fail(http.StatusBadRequest, "Invalid value '%s' for '%s' filter. Valid values are 'true' or 'false'.", bounded(value), name)
}

func memberStatus(query url.Values) (string, error) {
	status := query.Get("member_status")
	if status == "" {
		return "accepted", nil
	}
	if !slices.Contains([]string{"pending", "accepted", "rejected", "all"}, status) {
		return "", service.Fail(http.StatusBadRequest, "Invalid status: %s", bounded(status))
	}
	return status, nil
}

// visible keeps to what the caller sees in lists, which is less than what it
// may show: others' community images and unaccepted ones only if asked for.
func (q *statement) visible(caller *service.Caller, query url.Values, status string) error {
	project, admin := q.arg(caller.ProjectID()), q.arg(caller.Admin())
	member := fmt.Sprintf(`i.visibility = 'shared' AND EXISTS (SELECT FROM image.members m WHERE m.image_id = i.id AND m.member = %s`, project)
	if status == "all" {
		member += ")"
	} else {
		member += ` AND m.status = ` + q.arg(status) + `)`
	}
	sees := fmt.Sprintf(`(i.owner = %s OR %s OR i.visibility = 'public' OR %s`, project, admin, member)
	switch visibility := query.Get("visibility"); visibility {
	case "":
		if !query.Has("owner") {
			q.and("(i.visibility <> 'community' OR i.owner = %s)", project)
			q.and("%s)", sees)
			return nil
		}
	case "all":
	case "public", "private", "shared", "community":
		q.and("i.visibility = %s", q.arg(visibility))
		if visibility == "shared" && query.Has("member_status") {
			q.and("%s", member)
		}
	default:
		return service.Fail(http.StatusBadRequest, "Invalid visibility value: %s", bounded(visibility))
	}
	q.and("%s OR i.visibility = 'community')", sees)
	return nil
}

func (q *statement) filter(name, value string) error {
	switch name {
	case "tag":
		q.and("i.document->'tags' ? %s", q.arg(value))
		return nil
	case "size_min", "size_max", "min_disk", "min_ram":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return service.Fail(http.StatusBadRequest, "Cannot convert %s to an integer of 0 or more.", name)
		}
		compare, field := "=", name
		if field, _ = strings.CutSuffix(name, "_min"); field != name {
			compare = ">="
		} else if field, _ = strings.CutSuffix(name, "_max"); field != name {
			compare = "<="
		}
		q.and("coalesce((i.document->>'%s')::numeric, 0) %s %s", field, compare, q.arg(n))
		return nil
	case "created_at", "updated_at":
		return q.filterTime(name, value)
	case "protected":
		flag, err := flagOf(name, value)
		if err != nil {
			return err
		}
		value = flag
	}
	column, own := columnOf[name]
	if !own {
		column = `i.document->>` + q.arg(name)
	}
	if list, several := strings.CutPrefix(value, "in:"); several && slices.Contains(severalOf, name) {
		wanted, err := splitIn(list)
		if err != nil {
			return err
		}
		q.and("%s = ANY (%s::text[])", column, q.arg(wanted))
		return nil
	}
	q.and("%s = %s", column, q.arg(value))
	return nil
}

// splitIn reads a list whose entries with commas are in quotes.
func splitIn(list string) ([]string, error) {
	var entries []string
	for rest := list; ; {
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			entry, after, closed := strings.Cut(quoted, `"`)
			if !closed || after != "" && after[0] != ',' {
				return nil, service.Fail(http.StatusBadRequest, "Invalid filter value %s. The quote is not closed.", bounded(list))
			}
			entries = append(entries, entry)
			if after == "" {
				return entries, nil
			}
			rest = after[1:]
			continue
		}
		entry, after, more := strings.Cut(rest, ",")
		entries = append(entries, entry)
		if !more {
			return entries, nil
		}
		rest = after
	}
}

var comparisons = map[string]string{"gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "eq": "=", "neq": "<>"}

// filterTime takes "gt:2026-01-01T00:00:00Z"; without an operator it is equal.
func (q *statement) filterTime(name, value string) error {
	operator, text, found := strings.Cut(value, ":")
	compare, known := comparisons[operator]
	if !found || !known {
		compare, text = "=", value
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if at, err = time.Parse("2006-01-02T15:04:05", text); err != nil {
			return service.Fail(http.StatusBadRequest, "Invalid filter value %s.", bounded(value))
		}
	}
	q.and("date_trunc('second', i.%s) %s %s", name, compare, q.arg(at))
	return nil
}
