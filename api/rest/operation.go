package rest

// The table of operations: what a service is made of.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/validation"
)

// Handler carries out a request. It returns a nil Response for an answer
// without a body.
type Handler func(*Request) (*Response, error)

// Operation is one row of a service's table, as the contract's operations.json
// has it. Its schemas are looked up in the service's by method, path and action.
type Operation struct {
	Method string
	// Path below the service's prefix, with {names}: "/servers/{id}".
	Path string
	// Action is the body's one key for rows of ".../action" paths; else empty.
	Action string
	// Versions are the microversions that have the operation; a request outside
	// of them is answered 404.
	Versions microversion.Range
	// Policy is the name of the rule that says who may. The engine asks it with
	// the caller's own project and user as target, unless the row is Targeted:
	// then the handler asks, of what it found.
	Policy   string
	Targeted bool
	// Success is the status of an answer whose Response names none; Statuses
	// are others at some microversions.
	Success  int
	Statuses []Status
	// Removed is an operation that the original had once: 410 for everybody.
	Removed bool
	// Anonymous is an operation for strangers, such as a version document. Its
	// path is below the service's mount, and it has neither identity nor version.
	Anonymous bool
	// Versioned is an Anonymous row whose answer depends on the microversion all
	// the same.
	Versioned bool
	// Public is an operation for strangers that is like all others but for that:
	// nobody's token is looked at.
	Public bool
	// Bodied has the body count whatever the method is.
	Bodied bool
	// TooOld is the refusal of a version that doesn't have the row yet, or no
	// longer; nil is the common 404.
	TooOld  error
	Handler Handler

	body, query *validation.Bindings
}

// Status is a status of success at some microversions.
type Status struct {
	Versions microversion.Range
	Code     int
}

// Name identifies the row in logs and metrics: "POST /servers/{id}/action reboot".
func (o Operation) Name() string {
	return strings.TrimSpace(o.Method + " " + o.Path + " " + o.Action)
}

// StatusAt is the status of success at a microversion.
func (o Operation) StatusAt(v microversion.Version) int {
	for _, s := range o.Statuses {
		if s.Versions.Has(v) {
			return s.Code
		}
	}
	return o.Success
}

// Service is one API: its place, its microversions, its table, its faults.
type Service struct {
	// Name is the service's type in the catalog, "compute".
	Name string
	// Mount is its path on a port shared with other services, "/compute".
	Mount string
	// Prefix of all paths below the mount, "/v2.1".
	Prefix string
	// ProjectInPath says that a project id may stand between prefix and path,
	// as Nova's URLs have had it; it must be the token's project.
	ProjectInPath bool
	// Canonical gives the path below the mount that is meant by another, and what of
	// its end that has lost, where clients may write paths in several ways; nil is where
	// they may not.
	Canonical func(header http.Header, path string) (meant, lost string)
	// MaxBody is the longest body in bytes; 0 is the server's.
	MaxBody int64
	// RequestIDHeader is the service's own header of request ids, sent beside the
	// common one; empty for none.
	RequestIDHeader string
	// Versions is nil for a service without microversions.
	Versions   *microversion.Scheme
	Operations []Operation
	// BodylessTypes says that the content type of a request whose method has no
	// body may be any.
	BodylessTypes bool
	// Policy enforces the rules that the rows name.
	Policy Enforcer
	// Tokens knows tokens that the service has given itself, which no other takes;
	// nil is a service that gives none. What it doesn't know is the server's to
	// look at.
	Tokens func(ctx context.Context, token string) (who Identity, known bool, err error)
	// Authenticate says who asks, for a service whose requests are signed and bear no
	// token; nil is any other service.
	Authenticate func(from *http.Request) (Identity, error)
	// Finite refuses bodies with numbers that are beyond every number, for a service that
	// keeps what it is sent: JSON that is written has none.
	Finite bool
	// AnyType says that a body is taken as JSON whatever its content type.
	AnyType bool
	// Schemas gives those of bodies and queries; nil checks none.
	Schemas func() (*validation.Set, error)
	Faults  Faults
}

// route is a method and the shape of a path: its parameters have no names, since
// the tables have several for one place.
type route struct{ method, path string }

// routes groups the rows that share a method and a shape of path.
func (s *Service) routes() map[route][]Operation {
	grouped := map[route][]Operation{}
	for _, o := range s.Operations {
		parts := strings.Split(o.Path, "/")
		for i, part := range parts {
			if parameter(part) != "" {
				parts[i] = anyPart
			}
		}
		path := strings.Join(parts, "/")
		if !o.Anonymous {
			path = s.Prefix + path
		}
		at := route{o.Method, path}
		grouped[at] = append(grouped[at], o)
	}
	return grouped
}

// prepared is the service with its rows' schemas found; s itself stays as it is,
// since several servers may serve it. A table in which a row can't answer, or two
// answer the same, is refused.
func (s Service) prepared() (*Service, error) {
	var schemas *validation.Set
	if s.Schemas != nil {
		var err error
		if schemas, err = s.Schemas(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	s.Operations = slices.Clone(s.Operations)
	for i := range s.Operations {
		o := &s.Operations[i]
		key := validation.Key{Method: o.Method, Path: o.Path, Action: o.Action}
		o.body, o.query = schemas.Body(key), schemas.Query(key)
	}
	for _, rows := range s.routes() {
		for i, o := range rows {
			switch {
			case o.Policy != "" && s.Policy == nil:
				return nil, fmt.Errorf("%s: %w", s.Name, errNoEnforcer)
			case !o.Removed && (o.Handler == nil || o.Success < 200 || o.Success > 299):
				return nil, fmt.Errorf("%s: %s has no handler or no status of success", s.Name, o.Name())
			case (o.Action == "") != (rows[0].Action == ""):
				return nil, fmt.Errorf("%s: %s is an action beside an operation that is none", s.Name, o.Name())
			}
			for _, other := range rows[:i] {
				if other.Action == o.Action && other.Versions.Meets(o.Versions) {
					return nil, fmt.Errorf("%s: %s stands twice for the same microversions", s.Name, o.Name())
				}
			}
		}
	}
	return &s, nil
}

// parameter is the name in "{name}"; empty for a literal part of a path.
func parameter(part string) string {
	if strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}") {
		return part[1 : len(part)-1]
	}
	return ""
}

// errNotFound is what an operation is that the asked microversion doesn't have.
var errNotFound = NewFault(404, "The resource could not be found.")

// choose finds the rows that the request may mean among those of its route:
// all, or those of the action that its body names. Errors: 400 for an action
// body that isn't one or names no action.
func choose(rows []Operation, r *Request) ([]Operation, error) {
	if rows[0].Action == "" {
		return rows, nil
	}
	action, err := r.action()
	if err != nil {
		return nil, err
	}
	var named []Operation
	for _, o := range rows {
		if o.Action == action {
			named = append(named, o)
		}
	}
	if named == nil {
		return nil, NewFault(400, "There is no such action: %s", action)
	}
	return named, nil
}

// within finds the row that a microversion has; if none, the first one's refusal.
func within(rows []Operation, v microversion.Version) (*Operation, error) {
	for i := range rows {
		if rows[i].Versions.Has(v) {
			return &rows[i], nil
		}
	}
	if rows[0].TooOld != nil {
		return nil, rows[0].TooOld
	}
	return nil, errNotFound
}
