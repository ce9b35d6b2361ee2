package network

// Documents in the database.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast.dev/dev/companions/service"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// change is one request that writes: its transaction and who asks.
type change struct {
	tx     pgx.Tx
	caller *service.Caller
	svc    *Service
}

// write runs f in a transaction; one that met another is tried again.
func (s *Service) write(ctx context.Context, caller *service.Caller, f func(c *change) error) error {
	err := s.transact(ctx, caller, f)
	if err == nil {
		s.changed()
	}
	return err
}

// writeQuietly is write for the service itself, which needn't be told.
func (s *Service) writeQuietly(ctx context.Context, f func(c *change) error) error {
	return s.transact(ctx, &service.Caller{Roles: []service.Ref{{Name: "admin"}}}, f)
}

func (s *Service) transact(ctx context.Context, caller *service.Caller, f func(c *change) error) error {
	const tries = 5
	var err error
	for range tries {
		err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
			return f(&change{tx: tx, caller: caller, svc: s})
		})
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || (pg.Code != "40001" && pg.Code != "40P01") {
			break
		}
	}
	return err
}

// queue takes turns with every other change that names the same thing.
func (c *change) queue(ctx context.Context, name string) error {
	_, err := c.tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "network/"+name)
	return err
}

// insert stores a new document under its id.
func (c *change) insert(ctx context.Context, k *kind, doc document) error {
	now := time.Now().UTC().Format(time.RFC3339)
	doc["tenant_id"] = doc["project_id"]
	doc["revision_number"], doc["created_at"], doc["updated_at"] = 1, now, now
	_, err := c.tx.Exec(ctx, `INSERT INTO network.resources (id, kind, project_id, body) VALUES ($1, $2, $3, $4)`,
		doc.text("id"), k.name, doc.text("project_id"), map[string]any(doc))
	return err
}

// update stores a changed document; doc is made the one that is shown.
func (c *change) update(ctx context.Context, doc document) error {
	revision, _ := doc["revision_number"].(float64)
	doc["revision_number"], doc["updated_at"] = revision+1, time.Now().UTC().Format(time.RFC3339)
	_, err := c.tx.Exec(ctx, `UPDATE network.resources SET body = $2 WHERE id = $1`, doc.text("id"), map[string]any(doc))
	return err
}

func (c *change) delete(ctx context.Context, doc document) error {
	_, err := c.tx.Exec(ctx, `DELETE FROM network.resources WHERE id = $1`, doc.text("id"))
	return err
}

// Locks of a read. A row in use is held against deletion, one to change
// against other changes, one to delete against use too.
const (
	unlocked = ""
	inUse    = " FOR KEY SHARE OF r"
	toChange = " FOR NO KEY UPDATE OF r"
	toDelete = " FOR UPDATE OF r"
)

// find reads one that the caller may see.
func find(ctx context.Context, q querier, caller *service.Caller, k *kind, id, lock string) (document, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil, k.notFound(id)
	}
	doc := document{}
	err = q.QueryRow(ctx, `SELECT r.body FROM network.resources r WHERE r.kind = $3 AND r.id = $4 AND `+k.seen()+lock,
		caller.ProjectID(), caller.Admin(), k.name, parsed).Scan(&doc)
	if service.Missing(err) {
		return nil, k.notFound(id)
	}
	return doc, err
}

// find reads one that the caller may see.
func (c *change) find(ctx context.Context, k *kind, id, lock string) (document, error) {
	return find(ctx, c.tx, c.caller, k, id, lock)
}

// get reads one, whoever asks.
func (c *change) get(ctx context.Context, k *kind, id, lock string) (document, error) {
	doc := document{}
	err := c.tx.QueryRow(ctx, `SELECT r.body FROM network.resources r WHERE r.kind = $1 AND r.id::text = $2`+lock, k.name, id).Scan(&doc)
	if service.Missing(err) {
		return nil, k.notFound(id)
	}
	return doc, err
}

// own reads one that the caller may change, and holds it.
func (c *change) own(ctx context.Context, k *kind, id, verb string) (document, error) {
	lock := toChange
	if verb == "delete" {
		lock = toDelete
	}
	doc, err := c.find(ctx, k, id, lock)
	if err != nil {
		return nil, err
	}
	if !c.owns(doc) {
		return nil, forbidden(verb + "_" + k.name)
	}
	return doc, nil
}

func (c *change) owns(doc document) bool {
	return c.caller.Admin() || doc.text("project_id") == c.caller.ProjectID()
}

// where reads the documents of a kind that meet an SQL condition on r, in the
// order that they were made.
func where(ctx context.Context, q querier, k *kind, condition string, args ...any) ([]document, error) {
	return rowsOf(q.Query(ctx, `SELECT r.body FROM network.resources r WHERE r.kind = '`+k.name+`' AND `+condition+` ORDER BY r.number`, args...))
}

func rowsOf(rows pgx.Rows, err error) ([]document, error) {
	if err != nil {
		return nil, err
	}
	docs, err := pgx.CollectRows(rows, pgx.RowTo[document])
	if docs == nil {
		docs = []document{}
	}
	return docs, err
}

// seen is the SQL condition for what the caller, project $1 and admin $2, sees.
func (k *kind) seen() string {
	condition := `($2::boolean OR r.project_id = $1::text`
	if k.alsoSeen != "" {
		condition += " OR " + k.alsoSeen
	}
	return condition + ")"
}

func (k *kind) notFound(id string) error {
	const longest = 255
	if len(id) > longest {
		id = id[:longest]
	}
	return service.Typed(http.StatusNotFound, k.missing, k.missingText, id)
}

// count is how many of a kind a project has.
func count(ctx context.Context, q querier, k *kind, project string) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, `SELECT count(*) FROM network.resources WHERE kind = $1 AND project_id = $2`, k.name, project).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the %s: %w", k.plural, err)
	}
	return n, nil
}
