package identity

// The service, put together.

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/dev/companions/service"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the SQL files of the schema "identity".
func Migrations() fs.FS { return migrations }

// Service is the identity service.
type Service struct {
	db       *pgxpool.Pool
	url      string        // where it is found, with /v3
	lifetime time.Duration // of a token
	log      *slog.Logger
}

// New makes the service over a migrated database. url is its own address, with
// /v3 at the end.
func New(db *pgxpool.Pool, url string, log *slog.Logger) *Service {
	return &Service{db: db, url: url, lifetime: time.Hour, log: log}
}

// Handler serves the API.
func (s *Service) Handler() http.Handler {
	rt := service.NewRouter("identity", s, fault, s.log)
	s.discoveryRoutes(rt)
	s.tokenRoutes(rt)
	for _, c := range s.collections() {
		c.routes(rt)
	}
	s.grantRoutes(rt)
	s.assignmentRoutes(rt)
	s.implicationRoutes(rt)
	s.memberRoutes(rt)
	s.applicationCredentialRoutes(rt)
	s.trustRoutes(rt)
	s.credentialRoutes(rt)
	s.ec2Routes(rt)
	s.limitRoutes(rt)
	return rt
}

// purgeEvery is how often dead tokens and credentials are removed.
const purgeEvery = 10 * time.Minute

// Purge removes what has expired, again and again until ctx ends.
func (s *Service) Purge(ctx context.Context) {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	for {
		if _, err := s.db.Exec(ctx, `DELETE FROM identity.tokens WHERE expires_at < now()`); err != nil && ctx.Err() == nil {
			s.log.Warn("expired tokens were not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// fault writes Keystone's error body.
func fault(w http.ResponseWriter, _ *http.Request, e *service.Error) {
	_ = service.JSON(w, e.Status, map[string]any{"error": map[string]any{
		"code": e.Status, "message": e.Message, "title": http.StatusText(e.Status),
	}})
}

// newID is an id as Keystone makes them: 32 hexadecimal digits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// pageLinks are the links of a list that has one page.
func pageLinks(r *http.Request) map[string]any {
	self := service.BaseURL(r) + r.URL.Path
	if r.URL.RawQuery != "" {
		self += "?" + r.URL.RawQuery
	}
	return map[string]any{"self": self, "previous": nil, "next": nil}
}

// timestamp is a time as Keystone writes it, in UTC with microseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// optionalTime is a timestamp, to the second as Keystone shows it, or nothing.
func optionalTime(t *time.Time) any {
	if t == nil {
		return nil
	}
	return timestamp(t.Truncate(time.Second))
}

// parseTime reads the forms of a time that Keystone takes; without a zone it is UTC.
func parseTime(field, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, service.Fail(http.StatusBadRequest, "Invalid input for field '%s': '%s' is not a date and time of ISO 8601.", field, clip(text))
}

// clip bounds what of the client's text an error repeats.
func clip(text string) string {
	if len(text) > 100 {
		return text[:100]
	}
	return text
}
