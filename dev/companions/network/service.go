package network

// The service: what it is given, and the routes.

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/dev/companions/service"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations makes the schema network; service.Migrate runs it.
func Migrations() fs.FS { return migrations }

// Config is what the service stands on.
type Config struct {
	Pool *pgxpool.Pool
	Auth service.Authenticator
	Log  *slog.Logger
	// Compute takes the events about ports; nil sends none.
	Compute *Compute
	// Changed is called after each change that a data plane shows, and must
	// not block; nil for none.
	Changed func()
}

// Service answers Neutron's API.
type Service struct {
	Config
	router *service.Router
	events service.Work
}

// New makes the service; its schema must have been migrated.
func New(cfg Config) *Service {
	s := &Service{Config: cfg, events: service.NewWork()}
	s.router = service.NewRouter("network", cfg.Auth, writeFault, cfg.Log)
	s.routes()
	return s
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// Run sends the events until ctx ends.
func (s *Service) Run(ctx context.Context) error { return s.sendEvents(ctx) }

func (s *Service) routes() {
	rt := s.router
	rt.Public("GET /{$}", s.versions)
	rt.Public("GET /v2.0", s.version)
	rt.Handle("GET /v2.0/extensions", s.listExtensions)
	rt.Handle("GET /v2.0/extensions/{alias}", s.showExtension)
	rt.Handle("GET /v2.0/agents", s.listAgents)
	rt.Handle("GET /v2.0/agents/{id}", s.showAgent)
	rt.Handle("GET /v2.0/availability_zones", s.listZones)

	rt.Handle("GET /v2.0/segments", s.listSegments)

	for _, k := range kinds {
		base := "/v2.0/" + k.path()
		rt.Handle("GET "+base, s.list(k))
		rt.Handle("POST "+base, s.create(k))
		rt.Handle("GET "+base+"/{id}", s.show(k))
		rt.Handle("PUT "+base+"/{id}", s.change(k))
		rt.Handle("DELETE "+base+"/{id}", s.remove(k))
		rt.Handle("GET "+base+"/{id}/tags", s.listTags(k))
		rt.Handle("PUT "+base+"/{id}/tags", s.setTags(k))
		rt.Handle("DELETE "+base+"/{id}/tags", s.clearTags(k))
		rt.Handle("GET "+base+"/{id}/tags/{tag}", s.hasTag(k))
		rt.Handle("PUT "+base+"/{id}/tags/{tag}", s.addTag(k))
		rt.Handle("DELETE "+base+"/{id}/tags/{tag}", s.dropTag(k))
	}

	rt.Handle("GET /v2.0/ports/{id}/bindings", s.listBindings)
	rt.Handle("POST /v2.0/ports/{id}/bindings", s.createBinding)
	rt.Handle("GET /v2.0/ports/{id}/bindings/{host}", s.showBinding)
	rt.Handle("PUT /v2.0/ports/{id}/bindings/{host}", s.changeBinding)
	rt.Handle("DELETE /v2.0/ports/{id}/bindings/{host}", s.removeBinding)
	rt.Handle("PUT /v2.0/ports/{id}/bindings/{host}/activate", s.activateBinding)

	rt.Handle("PUT /v2.0/routers/{id}/add_router_interface", s.addInterface)
	rt.Handle("PUT /v2.0/routers/{id}/remove_router_interface", s.removeInterface)

	rt.Handle("GET /v2.0/auto-allocated-topology/{project}", s.topology)

	rt.Handle("GET /v2.0/quotas", s.listQuotas)
	rt.Handle("GET /v2.0/quotas/{project}", s.showQuota)
	rt.Handle("GET /v2.0/quotas/{project}/default", s.defaultQuota)
	rt.Handle("GET /v2.0/quotas/{project}/details", s.quotaDetails)
	rt.Handle("PUT /v2.0/quotas/{project}", s.setQuota)
	rt.Handle("DELETE /v2.0/quotas/{project}", s.resetQuota)
}

func (s *Service) changed() {
	if s.Changed != nil {
		s.Changed()
	}
	s.events.Wake()
}
