package identity

// The engine of things that are merely kept: a table says what they are, this
// creates, shows, lists, changes and deletes them. A row of the database is a
// JSON document with the columns as its members; members that are no column
// are kept in "extra" and shown as the others, as Keystone does.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/dev/companions/service"
)

type document = map[string]any

// kind is the JSON type of a field.
type kind int

const (
	text kind = iota
	optionalText
	flag
	list // of texts
	object
)

// field is a column that clients see.
type field struct {
	name     string
	kind     kind
	initial  any  // value when a create leaves it out
	required bool // in a create
	fixed    bool // not to be changed
	filter   bool // ?name= in lists
}

// collection is one kind of thing.
type collection struct {
	db       *pgxpool.Pool
	path     string // of the collection and its key in lists, "users"
	one      string // the key of one, "user"
	fields   []field
	ownID    bool // the client may choose the id
	get, all rule // to show one, to list
	write    rule // to create, change, delete
	// prepare checks a document before it is stored and may complete it. id is
	// "" on create. Nil for none.
	prepare func(ctx context.Context, tx pgx.Tx, id string, d document) error
	// release checks, before a delete, that it is allowed. Nil for none.
	release func(ctx context.Context, tx pgx.Tx, id string) error
}

func (c *collection) routes(rt *service.Router) {
	rt.Handle("GET /v3/"+c.path, c.list)
	rt.Handle("POST /v3/"+c.path, c.create)
	rt.Handle("GET /v3/"+c.path+"/{id}", c.show)
	rt.Handle("PATCH /v3/"+c.path+"/{id}", c.update)
	rt.Handle("DELETE /v3/"+c.path+"/{id}", c.remove)
}

func (c *collection) table() string { return "identity." + c.path }

// shown is the document of the row t.
const shown = `t.extra || (to_jsonb(t) - 'extra' - 'password_hash')`

// longestList is where a list is cut; it then says so ("truncated").
const longestList = 10_000

func (c *collection) list(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(c.all, caller, "", "list_"+c.path); err != nil {
		return err
	}
	var where []string
	var args []any
	query := r.URL.Query()
	for _, f := range c.fields {
		if !f.filter || !query.Has(f.name) {
			continue
		}
		value := query.Get(f.name)
		if f.kind == flag {
			value = fmt.Sprint(value == "" || value == "1" || strings.EqualFold(value, "true"))
		}
		args = append(args, value)
		where = append(where, fmt.Sprintf("t.%s::text = $%d", f.name, len(args)))
	}
	found, err := c.query(r.Context(), c.db, where, args...)
	if err != nil {
		return err
	}
	return c.answerList(w, r, found)
}

func (c *collection) show(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	id := r.PathValue("id")
	if err := enforce(c.get, caller, id, "get_"+c.one); err != nil {
		return err
	}
	found, err := c.query(r.Context(), c.db, []string{"t.id = $1"}, id)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return notFound(c.one, id)
	}
	return c.answer(w, r, http.StatusOK, found[0])
}

func (c *collection) create(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(c.write, caller, "", "create_"+c.one); err != nil {
		return err
	}
	given, err := c.read(r)
	if err != nil {
		return err
	}
	if domain := domainOf(caller); given["domain_id"] == nil && domain != "" && c.inDomain() {
		given["domain_id"] = domain
	}
	d, err := c.insert(r.Context(), given)
	if err != nil {
		return err
	}
	return c.answer(w, r, http.StatusCreated, d)
}

// inDomain says whether each of the collection belongs to a domain.
func (c *collection) inDomain() bool {
	return slices.ContainsFunc(c.fields, func(f field) bool { return f.name == "domain_id" && f.initial == DefaultDomain })
}

// domainOf is the domain that the caller works in; "" for the whole system.
func domainOf(caller *service.Caller) string {
	switch {
	case caller.Domain != nil:
		return caller.Domain.ID
	case caller.Project != nil:
		return caller.Project.Domain.ID
	}
	return ""
}

// insert checks and stores what a create asks for.
func (c *collection) insert(ctx context.Context, given document) (document, error) {
	d := document{"id": newID(), "extra": document{}}
	if id, ok := given["id"].(string); c.ownID && ok && id != "" {
		d["id"] = id
	}
	for _, f := range c.fields {
		value, ok := given[f.name]
		switch {
		case ok:
			d[f.name] = value
		case f.required:
			return nil, service.Fail(http.StatusBadRequest, "'%s' is a required property", f.name)
		default:
			d[f.name] = f.initial
		}
	}
	c.spread(given, d)
	var stored document
	err := pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		if c.prepare != nil {
			if err := c.prepare(ctx, tx, "", d); err != nil {
				return err
			}
		}
		return tx.QueryRow(ctx, `INSERT INTO `+c.table()+` AS t SELECT * FROM jsonb_populate_record(NULL::`+c.table()+`, $1) RETURNING `+shown, d).Scan(&stored)
	})
	return stored, c.translate(err)
}

func (c *collection) update(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	id := r.PathValue("id")
	if err := enforce(c.write, caller, id, "update_"+c.one); err != nil {
		return err
	}
	given, err := c.read(r)
	if err != nil {
		return err
	}
	d := document{"extra": document{}}
	for _, f := range c.fields {
		if value, ok := given[f.name]; ok {
			d[f.name] = value
		}
	}
	c.spread(given, d)
	var stored document
	err = pgx.BeginFunc(r.Context(), c.db, func(tx pgx.Tx) error {
		var before document
		err := tx.QueryRow(r.Context(), `SELECT to_jsonb(t) FROM `+c.table()+` t WHERE id = $1 FOR UPDATE`, id).Scan(&before)
		if service.Missing(err) {
			return notFound(c.one, id)
		}
		if err != nil {
			return err
		}
		for _, f := range c.fields {
			if value, ok := d[f.name]; ok && f.fixed && value != before[f.name] {
				return service.Fail(http.StatusBadRequest, "Cannot change %s.", f.name)
			}
		}
		if extra, ok := before["extra"].(document); ok {
			maps.Copy(extra, d["extra"].(document))
			d["extra"] = extra
		}
		if c.prepare != nil {
			if err := c.prepare(r.Context(), tx, id, d); err != nil {
				return err
			}
		}
		names := strings.Join(slices.Collect(maps.Keys(d)), ", ")
		return tx.QueryRow(r.Context(), `UPDATE `+c.table()+` t SET (`+names+`) = (SELECT `+names+` FROM jsonb_populate_record(t, $2)) WHERE id = $1 RETURNING `+shown, id, d).Scan(&stored)
	})
	if err != nil {
		return c.translate(err)
	}
	return c.answer(w, r, http.StatusOK, stored)
}

func (c *collection) remove(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	id := r.PathValue("id")
	if err := enforce(c.write, caller, id, "delete_"+c.one); err != nil {
		return err
	}
	err := pgx.BeginFunc(r.Context(), c.db, func(tx pgx.Tx) error {
		if c.release != nil {
			if err := c.release(r.Context(), tx, id); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(r.Context(), `DELETE FROM `+c.table()+` WHERE id = $1`, id)
		if err == nil && tag.RowsAffected() == 0 {
			return notFound(c.one, id)
		}
		return err
	})
	if err != nil {
		return c.translate(err)
	}
	return service.NoContent(w)
}

// read takes the document of a create or an update from the body and checks
// the types of its fields.
func (c *collection) read(r *http.Request) (document, error) {
	var body map[string]json.RawMessage
	if err := service.Decode(r, &body); err != nil {
		return nil, err
	}
	var given document
	if err := json.Unmarshal(body[c.one], &given); err != nil || given == nil {
		return nil, service.Fail(http.StatusBadRequest, "'%s' is a required property and is an object", c.one)
	}
	for _, f := range c.fields {
		value, ok := given[f.name]
		if ok && value == nil && f.kind != optionalText && !f.required {
			delete(given, f.name) // null stands for left out
			continue
		}
		if ok && !f.kind.holds(value) {
			return nil, service.Fail(http.StatusBadRequest, "Invalid input for field '%s': %v has the wrong type.", f.name, clip(fmt.Sprint(value)))
		}
		if long, isText := value.(string); isText && len(long) > f.longest() {
			return nil, service.Fail(http.StatusBadRequest, "Invalid input for field '%s': it has more than %d characters.", f.name, f.longest())
		}
		if name, isText := value.(string); isText && f.name == "name" && (strings.TrimSpace(name) == "" || len(name) > 255) {
			return nil, service.Fail(http.StatusBadRequest, "Invalid input for field 'name': it has from 1 to 255 characters.")
		}
	}
	return given, nil
}

// longest is how many bytes a text of the field may have.
func (f field) longest() int {
	switch f.name {
	case "description", "password", "url":
		return 4096
	}
	return 255
}

func (k kind) holds(value any) bool {
	switch v := value.(type) {
	case string:
		return k == text || k == optionalText
	case nil:
		return k == optionalText
	case bool:
		return k == flag
	case document:
		return k == object
	case []any:
		for _, entry := range v {
			if _, ok := entry.(string); !ok {
				return false
			}
		}
		return k == list
	}
	return false
}

// spread puts what has no column into extra.
func (c *collection) spread(given, d document) {
	extra := d["extra"].(document)
	for name, value := range given {
		if _, known := d[name]; !known && name != "id" && name != "links" {
			extra[name] = value
		}
	}
}

func (c *collection) query(ctx context.Context, q queryer, where []string, args ...any) ([]document, error) {
	condition := "true"
	if len(where) > 0 {
		condition = strings.Join(where, " AND ")
	}
	rows, err := q.Query(ctx, fmt.Sprintf(`SELECT %s FROM %s t WHERE %s ORDER BY t.id LIMIT %d`, shown, c.table(), condition, longestList+1), args...)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[document])
	if found == nil {
		found = []document{}
	}
	return found, err
}

// translate turns a broken constraint into Keystone's answer.
func (c *collection) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case service.Violates(err, c.path+"_name_key"), service.Violates(err, c.path+"_domain_id_name_key"), service.Violates(err, c.path+"_pkey"):
		return &service.Error{Status: http.StatusConflict, Err: err,
			Message: fmt.Sprintf("Conflict occurred attempting to store %s - Duplicate entry found with name or id.", c.one)}
	case service.Violates(err, ""):
		return &service.Error{Status: http.StatusBadRequest, Err: err,
			Message: fmt.Sprintf("The %s names something that does not exist, or is still in use.", c.one)}
	}
	return err
}

func (c *collection) link(r *http.Request, d document) {
	d["links"] = document{"self": service.BaseURL(r) + "/v3/" + c.path + "/" + fmt.Sprint(d["id"])}
}

func (c *collection) answerList(w http.ResponseWriter, r *http.Request, found []document) error {
	body := document{"links": pageLinks(r)}
	if len(found) > longestList {
		found, body["truncated"] = found[:longestList], true
	}
	for _, d := range found {
		c.link(r, d)
	}
	body[c.path] = found
	return service.JSON(w, http.StatusOK, body)
}

func (c *collection) answer(w http.ResponseWriter, r *http.Request, status int, d document) error {
	c.link(r, d)
	return service.JSON(w, status, document{c.one: d})
}

// queryer is a pool or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}
