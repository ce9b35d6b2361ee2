package image

// The service: what it is given, and the routes.

import (
	"embed"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/dev/companions/service"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations makes the schema image; service.Migrate runs it.
func Migrations() fs.FS { return migrations }

// Config is what the service stands on.
type Config struct {
	Pool *pgxpool.Pool
	Auth service.Authenticator
	Log  *slog.Logger
	// Dir is where images' data is; it is made if it isn't there.
	Dir string
}

// Service answers Glance's API.
type Service struct {
	Config
	router *service.Router
}

// New makes the service; its schema must have been migrated.
func New(cfg Config) (*Service, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of images: %w", err)
	}
	s := &Service{Config: cfg}
	rt := service.NewRouter("image", cfg.Auth, writeFault, cfg.Log)
	rt.Public("GET /{$}", versions(http.StatusMultipleChoices))
	rt.Public("GET /versions", versions(http.StatusOK))
	rt.Handle("GET /v2/images", s.list)
	rt.Handle("POST /v2/images", s.create)
	rt.Handle("GET /v2/images/{id}", s.show)
	rt.Handle("PATCH /v2/images/{id}", s.patch)
	rt.Handle("DELETE /v2/images/{id}", s.remove)
	rt.Handle("PUT /v2/images/{id}/file", s.upload)
	rt.Handle("GET /v2/images/{id}/file", s.download)
	rt.Handle("PUT /v2/images/{id}/stage", s.stage)
	rt.Handle("POST /v2/images/{id}/import", s.importImage)
	rt.Handle("GET /v2/images/{id}/tasks", s.listTasks)
	rt.Handle("POST /v2/images/{id}/actions/deactivate", s.become("deactivated"))
	rt.Handle("POST /v2/images/{id}/actions/reactivate", s.become("active"))
	rt.Handle("GET /v2/images/{id}/members", s.listMembers)
	rt.Handle("POST /v2/images/{id}/members", s.addMember)
	rt.Handle("GET /v2/images/{id}/members/{member}", s.showMember)
	rt.Handle("PUT /v2/images/{id}/members/{member}", s.answerMembership)
	rt.Handle("DELETE /v2/images/{id}/members/{member}", s.removeMember)
	rt.Handle("GET /v2/schemas/{name}", s.showSchema)
	rt.Handle("GET /v2/info/import", s.importInfo)
	rt.Handle("GET /v2/info/stores", s.storesInfo)
	rt.Handle("PUT /v2/images/{id}/tags/{tag}", s.tag(true))
	rt.Handle("DELETE /v2/images/{id}/tags/{tag}", s.tag(false))
	s.router = rt
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// writeFault writes Glance's error page; clients take the sentence out of it.
func writeFault(w http.ResponseWriter, _ *http.Request, e *service.Error) {
	title := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(e.Status)
	_, _ = fmt.Fprintf(w, "<html>\n <head>\n  <title>%s</title>\n </head>\n <body>\n  <h1>%s</h1>\n  %s<br /><br />\n\n\n </body>\n</html>",
		title, title, html.EscapeString(e.Message))
}

func versions(status int) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
		return service.JSON(w, status, map[string]any{"versions": []any{map[string]any{
			"id": "v2.17", "status": "CURRENT",
			"links": []any{map[string]any{"rel": "self", "href": service.BaseURL(r) + "/v2/"}},
		}}})
	}
}
