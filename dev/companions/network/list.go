package network

// Lists: filters, fields, order and pages.

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/dev/companions/service"
)

// longestPage bounds an answer; what is beyond is linked as the next page.
const longestPage = 1000

// notFilters are the parameters of a list that say how, not which.
var notFilters = []string{"fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir"}

func (s *Service) list(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if k == securityGroups {
			if err := s.ensureDefaultGroup(r.Context(), caller); err != nil {
				return err
			}
		}
		query := r.URL.Query()
		sql, args, limit, err := k.listSQL(caller, query)
		if err != nil {
			return err
		}
		if marker := query.Get("marker"); marker != "" {
			if _, err := find(r.Context(), s.Pool, caller, k, marker, unlocked); err != nil {
				return service.Fail(http.StatusBadRequest, "Invalid marker: %s.", err.Error())
			}
		}
		docs, err := rowsOf(s.Pool.Query(r.Context(), sql, args...))
		if err != nil {
			return err
		}
		more := len(docs) > limit
		docs = docs[:min(len(docs), limit)]
		if err := k.derived(r.Context(), s.Pool, docs); err != nil {
			return err
		}
		answer := map[string]any{}
		if more && len(docs) > 0 {
			query.Set("marker", docs[len(docs)-1].text("id"))
			answer[k.plural+"_links"] = []any{map[string]any{"rel": "next",
				"href": service.BaseURL(r) + r.URL.Path + "?" + query.Encode()}}
		}
		for i := range docs {
			docs[i] = k.show(caller, docs[i], query["fields"])
		}
		answer[k.plural] = docs
		return service.JSON(w, http.StatusOK, answer)
	}
}

// listSQL is the statement of a list, with one row more than the limit.
func (k *kind) listSQL(caller *service.Caller, query url.Values) (sql string, args []any, limit int, err error) {
	args = []any{caller.ProjectID(), caller.Admin(), k.name}
	conditions := []string{"r.kind = $3", k.seen()}
	for name, values := range query {
		if slices.Contains(notFilters, name) {
			continue
		}
		condition, err := k.filter(caller, name, values, func(arg any) string {
			args = append(args, arg)
			return "$" + strconv.Itoa(len(args))
		})
		if err != nil {
			return "", nil, 0, err
		}
		conditions = append(conditions, condition)
	}
	order, err := k.order(query)
	if err != nil {
		return "", nil, 0, err
	}
	limit = longestPage
	if given := query.Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 0 {
			return "", nil, 0, service.Fail(http.StatusBadRequest, "Limit must be an integer 0 or greater and not '%s'", given)
		}
		if n > 0 {
			limit = min(n, longestPage)
		}
	}
	sql = `WITH r AS (SELECT r.id, r.body, row_number() OVER (ORDER BY ` + order + `) AS place FROM network.resources r WHERE ` +
		strings.Join(conditions, " AND ") + `) SELECT body FROM r`
	if marker, err := uuid.Parse(query.Get("marker")); err == nil {
		args = append(args, marker)
		sql += fmt.Sprintf(` WHERE place > (SELECT place FROM r WHERE id = $%d)`, len(args))
	}
	return sql + fmt.Sprintf(` ORDER BY place LIMIT %d`, limit+1), args, limit, nil
}

// filter is the condition that a parameter sets. arg adds an argument.
func (k *kind) filter(caller *service.Caller, name string, values []string, arg func(any) string) (string, error) {
	attr := k.attribute(name)
	switch {
	case k.attribute("tags") != nil && tagFilters[name] != "":
		tags := strings.Split(strings.Join(values, ","), ",")
		return fmt.Sprintf(tagFilters[name], arg(tags)), nil
	case attr == nil || attr.adminRead && !caller.Admin():
		return "", service.Fail(http.StatusBadRequest, "['%s'] is invalid attribute for filtering", name)
	case name == "fixed_ips":
		return fixedIPFilter(values, arg)
	case name == "security_groups" || name == "availability_zone_hints":
		return fmt.Sprintf("r.body->'%s' ?| %s", name, arg(values)), nil
	}
	for i, value := range values {
		switch strings.ToLower(value) {
		case "true", "false":
			values[i] = strings.ToLower(value)
		}
	}
	return fmt.Sprintf("coalesce(r.body->>'%s', '') = ANY(%s)", name, arg(values)), nil
}

// fixedIPFilter takes "ip_address=…", "ip_address_substr=…" and "subnet_id=…".
func fixedIPFilter(values []string, arg func(any) string) (string, error) {
	tests := map[string]string{
		"ip_address":        "f->>'ip_address' = %s",
		"subnet_id":         "f->>'subnet_id' = %s",
		"ip_address_substr": "strpos(f->>'ip_address', %s) > 0",
	}
	same := map[string][]string{}
	for _, value := range values {
		key, wanted, _ := strings.Cut(value, "=")
		test, ok := tests[key]
		if !ok {
			return "", invalid("fixed_ips", "'%s' is not a valid filter.", value)
		}
		same[key] = append(same[key], fmt.Sprintf(test, arg(wanted)))
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(same)) {
		all = append(all, "("+strings.Join(same[key], " OR ")+")")
	}
	return `EXISTS (SELECT 1 FROM jsonb_array_elements(r.body->'fixed_ips') f WHERE ` + strings.Join(all, " AND ") + `)`, nil
}

// order is by the keys of the request, then by age.
func (k *kind) order(query url.Values) (string, error) {
	keys, directions := query["sort_key"], query["sort_dir"]
	if len(directions) > 0 && len(directions) != len(keys) {
		return "", service.Fail(http.StatusBadRequest, "The number of sort_keys and sort_dirs must be same")
	}
	var order []string
	for i, key := range keys {
		if k.attribute(key) == nil {
			return "", service.Fail(http.StatusBadRequest, "['%s'] is invalid attribute for sort_keys", key)
		}
		direction := "ASC"
		if len(directions) > 0 {
			direction = strings.ToUpper(directions[i])
		}
		if direction != "ASC" && direction != "DESC" {
			return "", service.Fail(http.StatusBadRequest, "'%s' is invalid for sort_dirs, valid value is '['asc', 'desc']'", directions[i])
		}
		order = append(order, fmt.Sprintf("r.body->'%s' %s", key, direction))
	}
	return strings.Join(append(order, "r.number"), ", "), nil
}
