package rest

// The table of operations: what a service is made of.

import (
	"fmt"
	"strings"

	"holdfast.dev/internal/microversion"
)

// Handler carries out a request. It returns a nil Response for an answer
// without a body.
type Handler func(*Request) (*Response, error)

// Operation is one row of a service's table, as the contract's operations.json
// has it.
type Operation struct {
	Method string
	// Path below the service's prefix, with {names}: "/servers/{id}".
	Path string
	// Action is the body's one key for rows of ".../action" paths; else empty.
	Action string
	// Versions are the microversions that have the operation; a request outside
	// of them is answered 404.
	Versions microversion.Range
	// Policy is the name of the rule that says who may; it is asked about the
	// caller's own project before the handler. Empty: whoever has a token.
	Policy string
	// Success is the status of an answer whose Response names none.
	Success int
	Handler Handler
}

// Name identifies the row in logs and metrics: "POST /servers/{id}/action reboot".
func (o Operation) Name() string {
	return strings.TrimSpace(o.Method + " " + o.Path + " " + o.Action)
}

// Service is one API: its place, its microversions, its table, its faults.
type Service struct {
	// Name is the service's type in the catalog, "compute".
	Name string
	// Prefix of all paths, "/v2.1".
	Prefix string
	// ProjectInPath says that a project id may stand between prefix and path,
	// as Nova's URLs have had it; it must be the token's project.
	ProjectInPath bool
	// Versions is nil for a service without microversions.
	Versions   *microversion.Scheme
	Operations []Operation
	// Policy enforces the rules that the rows name.
	Policy Enforcer
	Faults Faults
}

// route is what gin is told: a method and a path whose parameters are named by
// position, since gin wants one name per place and the tables have several.
type route struct{ method, path string }

// routes groups the rows that share a method and a shape of path.
func (s *Service) routes() map[route][]Operation {
	grouped := map[route][]Operation{}
	for _, o := range s.Operations {
		parts := strings.Split(o.Path, "/")
		for i, part := range parts {
			if parameter(part) != "" {
				parts[i] = fmt.Sprintf(":p%d", i)
			}
		}
		at := route{o.Method, s.Prefix + strings.Join(parts, "/")}
		grouped[at] = append(grouped[at], o)
	}
	return grouped
}

// check refuses a table in which a row can't answer, or two answer the same.
func (s *Service) check() error {
	for _, rows := range s.routes() {
		for i, o := range rows {
			switch {
			case o.Policy != "" && s.Policy == nil:
				return fmt.Errorf("%s: %w", s.Name, errNoEnforcer)
			case o.Handler == nil || o.Success < 200 || o.Success > 299:
				return fmt.Errorf("%s: %s has no handler or no status of success", s.Name, o.Name())
			case (o.Action == "") != (rows[0].Action == ""):
				return fmt.Errorf("%s: %s is an action beside an operation that is none", s.Name, o.Name())
			}
			for _, other := range rows[:i] {
				if other.Action == o.Action && other.Versions.Meets(o.Versions) {
					return fmt.Errorf("%s: %s stands twice for the same microversions", s.Name, o.Name())
				}
			}
		}
	}
	return nil
}

// parameter is the name in "{name}"; empty for a literal part of a path.
func parameter(part string) string {
	if strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}") {
		return part[1 : len(part)-1]
	}
	return ""
}

// choose finds the row that serves the request among those of its route.
// Errors: 400 for an action body that isn't one or names no action, 404 for an
// operation that the asked microversion doesn't have.
func choose(rows []Operation, r *Request) (*Operation, error) {
	action := ""
	if rows[0].Action != "" {
		var err error
		if action, err = r.action(); err != nil {
			return nil, err
		}
	}
	known := false
	for i := range rows {
		if rows[i].Action != action {
			continue
		}
		known = true
		if rows[i].Versions.Has(r.Version) {
			return &rows[i], nil
		}
	}
	if !known {
		return nil, NewFault(400, "There is no such action: %s", action)
	}
	return nil, NewFault(404, "The resource could not be found.")
}
