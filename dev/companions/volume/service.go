package volume

// The service: what it is given, and the routes.

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"holdfast.dev/dev/companions/service"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations makes the schema volume; service.Migrate runs it.
func Migrations() fs.FS { return migrations }

// Config is what the service stands on.
type Config struct {
	Pool *pgxpool.Pool
	Auth service.Authenticator
	Log  *slog.Logger
	// Dir is where the files of volumes are; it is made if it isn't there. QEMU's
	// account, which libvirt gives a volume's file to, has to pass through.
	Dir string
	// Images is the image service; nil makes no volume of an image.
	Images *Images
	// Servers is the compute service; nil migrates no volume.
	Servers *Servers
}

// Service answers Cinder's API.
type Service struct {
	Config
	router *service.Router
	// work is on files; migrations, which wait for the compute service, are asked for
	// beside it, as many at once as swaps has room for.
	work, migrations service.Work
	swaps            *semaphore.Weighted
	asking           sync.WaitGroup
}

// New makes the service; its schema must have been migrated.
func New(cfg Config) (*Service, error) {
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("the folder of volumes: %w", err)
	}
	s := &Service{Config: cfg, work: service.NewWork(), migrations: service.NewWork(), swaps: semaphore.NewWeighted(swapsAtOnce)}
	s.router = service.NewRouter("volume", cfg.Auth, writeFault, cfg.Log)
	s.routes()
	return s, nil
}

func (s *Service) routes() {
	rt := s.router
	rt.Public("GET /{$}", s.versions(http.StatusMultipleChoices))
	rt.Public("GET /v3", s.versions(http.StatusOK))
	handle := rt.Handle

	handle("GET /v3/volumes", s.listVolumes(false))
	handle("GET /v3/volumes/detail", s.listVolumes(true))
	handle("GET /v3/volumes/summary", s.volumeSummary)
	handle("POST /v3/volumes", s.createVolume)
	handle("GET /v3/volumes/{id}", s.showVolume)
	handle("PUT /v3/volumes/{id}", s.changeVolume)
	handle("DELETE /v3/volumes/{id}", s.deleteVolume)
	handle("POST /v3/volumes/{id}/action", s.volumeAction)
	handle("GET /v3/volumes/{id}/encryption", s.volumeEncryption)
	for _, m := range []metadataOf{volumeMetadata, snapshotMetadata} {
		base := "/v3/" + m.plural + "/{id}/metadata"
		handle("GET "+base, s.showMetadata(m))
		handle("POST "+base, s.setMetadata(m, false))
		handle("PUT "+base, s.setMetadata(m, true))
		handle("GET "+base+"/{key}", s.showMetadataKey(m))
		handle("PUT "+base+"/{key}", s.setMetadataKey(m))
		handle("DELETE "+base+"/{key}", s.dropMetadataKey(m))
	}

	handle("GET /v3/snapshots", s.listSnapshots(snapshotView))
	handle("GET /v3/snapshots/detail", s.listSnapshots(snapshotDetail))
	handle("POST /v3/snapshots", s.createSnapshot)
	handle("GET /v3/snapshots/{id}", s.showSnapshot)
	handle("PUT /v3/snapshots/{id}", s.changeSnapshot)
	handle("DELETE /v3/snapshots/{id}", s.deleteSnapshot)

	handle("GET /v3/attachments", s.listAttachments(false))
	handle("GET /v3/attachments/detail", s.listAttachments(true))
	handle("POST /v3/attachments", s.createAttachment)
	handle("GET /v3/attachments/{id}", s.showAttachment)
	handle("PUT /v3/attachments/{id}", s.connectAttachment)
	handle("DELETE /v3/attachments/{id}", s.deleteAttachment)
	handle("POST /v3/attachments/{id}/action", s.completeAttachment)

	handle("GET /v3/types", s.listTypes)
	handle("POST /v3/types", s.createType)
	handle("GET /v3/types/{id}", s.showType)
	handle("DELETE /v3/types/{id}", s.deleteType)
	handle("GET /v3/qos-specs", s.listQoS)
	handle("POST /v3/qos-specs", s.createQoS)
	handle("GET /v3/qos-specs/{id}", s.showQoS)
	handle("PUT /v3/qos-specs/{id}", s.changeQoS(setSpecs))
	handle("PUT /v3/qos-specs/{id}/delete_keys", s.changeQoS(dropSpecs))
	handle("DELETE /v3/qos-specs/{id}", s.deleteQoS)
	handle("GET /v3/qos-specs/{id}/associations", s.listAssociations)
	handle("GET /v3/qos-specs/{id}/associate", s.associate(true))
	handle("GET /v3/qos-specs/{id}/disassociate", s.associate(false))

	handle("GET /v3/backups", s.listBackups(false))
	handle("GET /v3/backups/detail", s.listBackups(true))
	handle("POST /v3/backups", s.createBackup)
	handle("GET /v3/backups/{id}", s.showBackup)
	handle("DELETE /v3/backups/{id}", s.deleteBackup)
	handle("POST /v3/backups/{id}/restore", s.restoreBackup)

	handle("GET /v3/limits", s.showLimits)
	handle("GET /v3/os-quota-sets/{project}", s.showQuota)
	handle("GET /v3/os-quota-sets/{project}/defaults", s.defaultQuota)
	handle("PUT /v3/os-quota-sets/{project}", s.setQuota)
	handle("DELETE /v3/os-quota-sets/{project}", s.resetQuota)
	handle("GET /v3/os-availability-zone", s.listZones)
	handle("GET /v3/os-services", s.listServices)
	handle("GET /v3/extensions", s.listExtensions)
}

// projectInPath is the project of the older paths, "/v3/{project_id}/volumes".
var projectInPath = regexp.MustCompile(`^/v3/([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(/.*)?$`)

const (
	highest = 71 // of microversions 3.x
	ownType = "volume"
)

type contextKey int

const (
	minorKey contextKey = iota
	projectKey
)

// ServeHTTP implements http.Handler: the microversion and the path's project
// are settled before the route.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	minor, e := microversion(r)
	w.Header().Set("Vary", "OpenStack-API-Version")
	if e != nil {
		writeFault(w, r, e)
		return
	}
	w.Header().Set("OpenStack-API-Version", "volume 3."+strconv.Itoa(minor))
	ctx := context.WithValue(r.Context(), minorKey, minor)
	if found := projectInPath.FindStringSubmatch(r.URL.Path); found != nil {
		ctx = context.WithValue(ctx, projectKey, found[1])
		u := *r.URL
		u.Path, u.RawPath = "/v3"+found[2], ""
		r = r.WithContext(ctx)
		r.URL = &u
	}
	s.router.ServeHTTP(w, r.WithContext(ctx))
}

// microversion is the minor number that a request asks for; none is 3.0.
func microversion(r *http.Request) (int, *service.Error) {
	for _, header := range r.Header.Values("OpenStack-API-Version") {
		for _, one := range strings.Split(header, ",") {
			kind, version, _ := strings.Cut(strings.TrimSpace(one), " ")
			if kind != ownType {
				continue
			}
			if version == "latest" {
				return highest, nil
			}
			major, minor, ok := strings.Cut(version, ".")
			n, err := strconv.Atoi(minor)
			if _, notNumber := strconv.Atoi(major); notNumber != nil || !ok || err != nil {
				return 0, service.Fail(http.StatusBadRequest, "API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", version)
			}
			if major != "3" || n < 0 || n > highest {
				return 0, service.Fail(http.StatusNotAcceptable, "Version %s is not supported by the API. Minimum is 3.0 and maximum is 3.%d.", version, highest)
			}
			return n, nil
		}
	}
	return 0, nil
}

func minorOf(r *http.Request) int {
	minor, _ := r.Context().Value(minorKey).(int)
	return minor
}

// writing refuses those who may only read, and a path of another project.
func writing(r *http.Request, caller *service.Caller, rule string) error {
	if err := inPath(r, caller); err != nil {
		return err
	}
	if caller.Admin() || caller.ProjectID() != "" && (caller.Has("member") || caller.Has("manager") || caller.Has("service")) {
		return nil
	}
	return forbidden(rule)
}

func inPath(r *http.Request, caller *service.Caller) error {
	if project, ok := r.Context().Value(projectKey).(string); ok && project != caller.ProjectID() && !caller.Admin() {
		return service.Fail(http.StatusBadRequest, "Malformed request url")
	}
	return nil
}

func forbidden(rule string) error {
	return service.Fail(http.StatusForbidden, "Policy doesn't allow %s to be performed.", rule)
}

// write runs f in a transaction and lets the work begin.
func (s *Service) write(ctx context.Context, f func(tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, s.Pool, f)
	if err == nil {
		s.work.Wake()
		s.migrations.Wake()
	}
	return err
}

// faultNames are the keys of Cinder's fault bodies.
var faultNames = map[int]string{
	400: "badRequest", 401: "unauthorized", 403: "forbidden", 404: "itemNotFound", 405: "badMethod", 409: "conflictingRequest",
	413: "overLimit", 415: "badMediaType", 501: "notImplemented", 503: "serviceUnavailable",
}

func writeFault(w http.ResponseWriter, _ *http.Request, e *service.Error) {
	fault := map[string]any{"code": e.Status, "message": e.Message}
	name := faultNames[e.Status]
	switch {
	case e.Status == http.StatusUnauthorized: // written by the token middleware
		name, fault["title"] = "error", "Unauthorized"
	case name == "":
		name = "computeFault"
	}
	_ = service.JSON(w, e.Status, map[string]any{name: fault})
}

func (s *Service) versions(status int) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
		return service.JSON(w, status, map[string]any{"versions": []any{map[string]any{
			"id": "v3.0", "status": "CURRENT", "version": "3." + strconv.Itoa(highest), "min_version": "3.0", "updated": "2024-05-01T00:00:00Z",
			"links":       []any{map[string]any{"rel": "self", "href": service.BaseURL(r) + "/v3/"}},
			"media-types": []any{map[string]any{"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}},
		}}})
	}
}
