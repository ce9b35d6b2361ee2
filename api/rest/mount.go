package rest

// Where services stand, and how a path is taken apart: /mount/prefix/project/rest.

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
)

// mounted is a service and its routes, which know paths below the mount.
type mounted struct {
	*Service
	router http.Handler
}

func (s *Server) mount(service *Service) (*mounted, error) {
	service, err := service.prepared()
	if err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.RedirectTrailingSlash = false
	router.HandleMethodNotAllowed = service.Faults.Routing != nil
	router.UseRawPath = true // an escaped slash in an id is part of the id
	for at, rows := range service.routes() {
		router.Handle(at.method, at.path, func(c *gin.Context) { s.serve(c, service, rows) })
	}
	router.NoRoute(func(c *gin.Context) { s.noRoute(c, service, http.StatusNotFound) })
	router.NoMethod(func(c *gin.Context) { s.noRoute(c, service, http.StatusMethodNotAllowed) })
	return &mounted{service, router}, nil
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

// noRoute answers paths and methods that the service doesn't have: to strangers
// 401, to others what the service says of such, by default a 404 that is no
// service's fault, and never 405 (contracts: errors.json, framework_rules).
func (s *Server) noRoute(c *gin.Context, service *Service, status int) {
	e := exchangeOf(c.Request.Context())
	if e.service != nil {
		if _, err := s.authenticate(c.Request, e); err != nil {
			s.fail(c.Writer, c.Request, service, err)
			return
		}
	}
	if service.Faults.Routing != nil {
		s.fail(c.Writer, c.Request, service, NewRoutingFault(status, ""))
		return
	}
	writeBare(c.Writer, c.Request, http.StatusNotFound)
}

// parameters names the path's values as the operation's row does.
func parameters(c *gin.Context, o *Operation) map[string]string {
	named := map[string]string{}
	for i, part := range strings.Split(o.Path, "/") {
		if name := parameter(part); name != "" {
			named[name] = c.Param(fmt.Sprintf("p%d", i))
		}
	}
	return named
}
