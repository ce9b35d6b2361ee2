package baremetal

// Lists: what may be asked of all of them, pages, and the link to the next.

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store/baremetal"
)

// filter is a parameter of a list's query.
type filter struct {
	name  string
	since int
	// says that the refusal of an older version names the version that has it.
	says bool
	// read gives the condition for a value; nil for a parameter that is no
	// condition of its own.
	read func(value string) (baremetal.Filter, error)
}

// equal is a filter by a column.
func equal(column string) func(string) (baremetal.Filter, error) {
	return func(value string) (baremetal.Filter, error) {
		return baremetal.Filter{SQL: "t." + column + " = $", Value: value}, nil
	}
}

// truth is a filter by a column of truth values.
func truth(column string) func(string) (baremetal.Filter, error) {
	return func(value string) (baremetal.Filter, error) {
		is, err := boolean(column, value)
		return baremetal.Filter{SQL: "t." + column + " = $", Value: is}, err
	}
}

// contains is a filter by a part of the description.
func contains(value string) (baremetal.Filter, error) {
	return baremetal.Filter{SQL: "position($ in t.description) > 0", Value: value}, nil
}

// byUUID is a filter by a column of ids; one that is none is refused.
func byUUID(column string) func(string) (baremetal.Filter, error) {
	return func(value string) (baremetal.Filter, error) {
		if !baremetal.IsUUID(value) {
			return baremetal.Filter{}, invalid("Expected UUID for %s: %s", column, value)
		}
		return baremetal.Filter{SQL: "t." + column + " = $", Value: value}, nil
	}
}

// common are the parameters of lists, and byFields the one of what is shown alone.
var (
	byFields = []filter{{name: "fields", since: 8}}
	common   = append([]filter{{name: "limit", since: 1}, {name: "marker", since: 1}, {name: "sort_key", since: 1}, {name: "sort_dir", since: 1}, {name: "detail", since: 43}}, byFields...)
)

// listing is a list as it was asked for.
type listing struct {
	baremetal.List
	// wanted are the fields to show; nil for all.
	wanted []string
	// next are the parameters of the next page's link.
	next []string
	path string
}

// listing reads a list's query. detailed is a list at its ".../detail" path.
func (s *resource) listing(r *rest.Request, filters []filter, most int, detailed bool) (*listing, error) {
	known := slices.Concat(filters, common)
	switch {
	case s.whole:
		known = slices.DeleteFunc(known, func(f filter) bool { return f.name == "detail" })
	case s.fieldless:
		known = slices.DeleteFunc(known, func(f filter) bool { return f.name == "fields" })
	case detailed:
		known = slices.DeleteFunc(known, func(f filter) bool { return f.name == "fields" || f.name == "detail" })
	}
	if err := s.expected(r, known); err != nil {
		return nil, err
	}
	l := &listing{path: s.path()}
	var err error
	if l.wanted, err = s.shown(r, detailed); err != nil {
		return nil, err
	}
	if l.Limit, err = limit(r, most); err != nil {
		return nil, err
	}
	if err := s.order(r, l); err != nil {
		return nil, err
	}
	for _, f := range filters {
		value := r.Query.Get(f.name)
		if f.read == nil || !r.Query.Has(f.name) {
			continue
		}
		condition, err := f.read(value)
		if err != nil {
			return nil, err
		}
		l.Filters = append(l.Filters, condition)
		l.next = append(l.next, f.name+"="+url.QueryEscape(value))
	}
	if detailed {
		l.path += "/detail"
	} else if r.Query.Has("detail") {
		l.next = append(l.next, "detail="+url.QueryEscape(r.Query.Get("detail")))
	}
	if r.Query.Has("fields") {
		l.next = append(l.next, "fields="+url.QueryEscape(strings.Join(l.wanted, ",")))
	}
	return l, nil
}

// expected refuses parameters that the list or its version doesn't know.
func (s *resource) expected(r *rest.Request, known []filter) error {
	var unexpected []string
	for _, name := range r.Parameters() {
		i := slices.IndexFunc(known, func(f filter) bool { return f.name == name })
		switch {
		case i < 0:
			unexpected = append(unexpected, name)
		case r.At(v(known[i].since)):
		case name == "detail":
			is, err := boolean(name, r.Query.Get(name))
			if err != nil {
				return err
			}
			return invalid("Invalid query parameter ?detail=%s received.", pyjson.Repr(is))
		case known[i].says:
			return faults.New(faults.Invalid, "NotAcceptable", "Request not acceptable. The minimal required API version should be %s", v(known[i].since))
		default:
			return notAcceptable()
		}
	}
	if len(unexpected) > 0 {
		return faults.New(faults.Invalid, "UnknownArgument", "Unexpected arguments: %s", strings.Join(unexpected, ", "))
	}
	return nil
}

// shown are the fields that a list shows; nil for all.
func (s *resource) shown(r *rest.Request, detailed bool) ([]string, error) {
	wanted, err := s.wanted(r)
	if err != nil {
		return nil, err
	}
	if value := r.Query.Get("detail"); value != "" {
		if detailed, err = boolean("detail", value); err != nil {
			return nil, err
		}
		if detailed && wanted != nil {
			return nil, invalid("Can not specify ?detail=True and fields in the same request.")
		}
	}
	if wanted == nil && !detailed {
		wanted = s.listed()
	}
	return wanted, nil
}

func limit(r *rest.Request, most int) (int, error) {
	text := r.Query.Get("limit")
	if text == "" {
		return most, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, invalid("Expected an integer for limit: %s", text)
	case n <= 0:
		return 0, invalid("Limit must be positive")
	}
	return min(n, most), nil
}

// order reads how a list is sorted and where it goes on.
func (s *resource) order(r *rest.Request, l *listing) error {
	key, direction := "id", "asc"
	if r.Query.Has("sort_key") {
		key = r.Query.Get("sort_key")
	}
	if r.Query.Has("sort_dir") {
		direction = r.Query.Get("sort_dir")
	}
	if direction != "asc" && direction != "desc" {
		return invalid("Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", direction)
	}
	if key != "id" {
		switch f, known := s.find(key); {
		case !known:
			return invalid("The sort_key value \"%s\" is an invalid field for sorting", key)
		case f.traits&sort == 0:
			return invalid("The sort_key value %s is an invalid field for sorting", key)
		case f.newer(r):
			return notAcceptable()
		}
		l.SortKey = key
	}
	l.Descending = direction == "desc"
	if l.Marker = r.Query.Get("marker"); l.Marker != "" && s.key == "" && !baremetal.IsUUID(l.Marker) {
		return invalid("Expected UUID for marker: %s", l.Marker)
	}
	l.next = append(l.next, "sort_key="+url.QueryEscape(key), "sort_dir="+direction)
	return nil
}

// page is the answer of a list: its rows as show shows them, and the link to the
// next page if this one is full.
func page[T any](r *rest.Request, s *resource, l *listing, rows []*T, id func(*T) string, show func(*T) map[string]any) *rest.Response {
	document := map[string]any{}
	if l.Limit > 0 && len(rows) == l.Limit {
		parameters := append(slices.Clone(l.next), fmt.Sprintf("limit=%d", l.Limit), "marker="+id(rows[len(rows)-1]))
		document["next"] = r.Link(l.path) + "?" + strings.Join(parameters, "&")
	}
	return rest.JSON(rest.Collection{Name: s.many, Beside: document, Items: func(yield func(any) bool) {
		for _, row := range rows {
			if !yield(show(row)) {
				return
			}
		}
	}})
}
