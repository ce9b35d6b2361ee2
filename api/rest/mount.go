package rest

// Where services stand, and how a path is taken apart: /mount/prefix/project/rest.

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// mounted is a service and the tree of its paths below the mount.
type mounted struct {
	*Service
	paths place
}

func (s *Server) mount(service *Service) (*mounted, error) {
	service, err := service.prepared()
	if err != nil {
		return nil, err
	}
	m := &mounted{service, place{named: map[string]*place{}}}
	for at, rows := range service.routes() {
		m.paths.add(at.method, strings.Split(at.path, "/"), rows)
	}
	return m, nil
}

// locate finds the service of an escaped path, the mount that it was asked
// under, and the path below that. A last slash means nothing.
func (s *Server) locate(root *mounted, path string) (m *mounted, mount, below string) {
	m, below = root, path
	for _, candidate := range s.services {
		if rest, ok := cutPrefix(path, candidate.Mount); ok {
			m, mount, below = candidate, candidate.Mount, rest
			break
		}
	}
	if len(below) > 1 {
		below = strings.TrimSuffix(below, "/")
	}
	return m, mount, below
}

// cutPrefix cuts a prefix that ends where a part of the path ends.
func cutPrefix(path, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, prefix)
	switch {
	case !ok || prefix == "":
		return "", false
	case rest == "":
		return "/", true
	}
	return rest, rest[0] == '/'
}

// projectID is what Nova takes for a project id in a path.
var projectID = regexp.MustCompile(`^[0-9a-f-]+$`)

// enter gives the request as the service's routes see it and notes what its
// path said.
func (m *mounted) enter(r *http.Request, e *exchange, below string) *http.Request {
	if rest, ok := cutPrefix(below, m.Prefix); ok {
		e.service = m.Service
		project, further, found := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		if m.ProjectInPath && found && projectID.MatchString(project) {
			e.project = project
			below = m.Prefix + "/" + further
		}
	}
	at := *r.URL
	at.RawPath, at.Path = below, below
	if plain, err := url.PathUnescape(below); err == nil {
		at.Path = plain
	}
	e.path = at.Path
	r.URL = &at
	return r
}

// projectMatches refuses a path with another project than the token's.
func projectMatches(e *exchange) error {
	if e.project == "" || e.project == e.identity.ProjectID {
		return nil
	}
	return NewFault(http.StatusBadRequest, "Malformed request URL: URL's project_id '%s' doesn't match Context's project_id '%s'",
		e.project, e.identity.ProjectID)
}

// route has a request served by the rows that its method and path name. An escaped
// slash is part of what it stands in.
func (s *Server) route(w http.ResponseWriter, r *http.Request, m *mounted, e *exchange) {
	e.parts = strings.Split(r.URL.RawPath, "/")
	for i, part := range e.parts {
		if plain, err := url.PathUnescape(part); err == nil {
			e.parts[i] = plain
		}
	}
	if rows := m.paths.find(r.Method, e.parts); rows != nil {
		s.serve(w, r, m.Service, rows)
		return
	}
	s.noRoute(w, r, m.Service, m.paths.methods(e.parts))
}

// noRoute answers paths that the service doesn't have, or only by other methods: to
// strangers 401, to others what the service says of such, by default a 404 that is
// no service's fault, and never 405 (contracts: errors.json, framework_rules).
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request, service *Service, others []string) {
	e := exchangeOf(r.Context())
	if e.service != nil {
		if _, err := s.authenticate(r, e); err != nil {
			s.fail(w, r, service, err)
			return
		}
	}
	switch {
	case service.Faults.Routing == nil:
		writeBare(w, r, http.StatusNotFound)
	case len(others) == 0:
		s.fail(w, r, service, NewRoutingFault(http.StatusNotFound, ""))
	default:
		w.Header().Set("Allow", strings.Join(others, ", "))
		s.fail(w, r, service, NewRoutingFault(http.StatusMethodNotAllowed, ""))
	}
}

// locate names the path's values as the operation's row does.
func (r *Request) locate(e *exchange) {
	parts := e.parts
	if !e.operation.Anonymous {
		parts = parts[strings.Count(r.service.Prefix, "/"):]
	}
	r.params, r.written = map[string]string{}, map[string]string{}
	for i, part := range strings.Split(e.operation.Path, "/") {
		if name := parameter(part); name != "" {
			r.params[name], r.written[name] = parts[i], parts[i]
			if i == len(parts)-1 {
				r.written[name] += e.lost
			}
		}
	}
}
