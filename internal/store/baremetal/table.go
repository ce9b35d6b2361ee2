package baremetal

// Rows as structs, and how all of them are read, listed, written and taken away.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Table is how the rows of one struct are kept. A field's column is its json
// name, unless a tag `column` has another; one tagged `db:"-"` is not stored, and
// one tagged `sql` is computed.
type Table[T any] struct {
	name    string
	columns []column
	// code and text are the fault of a row that isn't there; %s is how it was
	// asked for.
	code, text string
	// taken are the refusals by constraint: of rows whose unique value another row
	// has, and of those that others need.
	taken map[string]func(*T) error
}

// column is a field of the struct and its column; with sql it is computed.
type column struct {
	name, sql string
	index     int
	fixed     bool // written once, when the row is made
}

// value is the column in a query of the table as t.
func (c column) value() string {
	if c.sql != "" {
		return c.sql
	}
	return "t." + c.name
}

// newTable reads the columns from the struct's tags.
func newTable[T any](name, code, text string, taken map[string]func(*T) error) *Table[T] {
	t := &Table[T]{name: name, code: code, text: text, taken: taken}
	of := reflect.TypeFor[T]()
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if other := field.Tag.Get("column"); other != "" {
			name = other
		}
		if name == "" || name == "-" || field.Tag.Get("db") == "-" {
			continue
		}
		t.columns = append(t.columns, column{name: name, sql: field.Tag.Get("sql"), index: i, fixed: field.Tag.Get("write") == "once"})
	}
	return t
}

// selected is the list of columns as a query names them.
func (t *Table[T]) selected() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.value() + " AS " + c.name
	}
	return strings.Join(names, ", ")
}

// SQL is what a column is in the conditions of a list; there is one of the name.
func (t *Table[T]) SQL(name string) string {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	return t.columns[i].value()
}

// targets are the row's fields to scan into. JSON is scanned as the bytes that it is:
// the database has checked it.
func (t *Table[T]) targets(row *T) []any {
	v := reflect.ValueOf(row).Elem()
	all := make([]any, len(t.columns))
	for i, c := range t.columns {
		all[i] = v.Field(c.index).Addr().Interface()
		if document, ok := all[i].(*json.RawMessage); ok {
			all[i] = (*[]byte)(document)
		}
	}
	return all
}

// Create adds a row.
func (t *Table[T]) Create(ctx context.Context, tx store.Tx, row *T) error {
	v := reflect.ValueOf(row).Elem()
	var names, places []string
	var values []any
	for _, c := range t.columns {
		if c.sql != "" || c.name == "created_at" {
			continue
		}
		values = append(values, v.Field(c.index).Interface())
		names, places = append(names, c.name), append(places, fmt.Sprintf("$%d", len(values)))
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+t.name+` (`+strings.Join(names, ", ")+`) VALUES (`+strings.Join(places, ", ")+`)`, values...)
	return t.translate(err, row)
}

// Update writes a row as it is now, found by its uuid, its first column; what is
// written once stays as it is.
func (t *Table[T]) Update(ctx context.Context, tx store.Tx, row *T) error {
	v := reflect.ValueOf(row).Elem()
	var sets []string
	values := []any{v.Field(t.columns[0].index).Interface()}
	for _, c := range t.columns[1:] {
		if c.sql != "" || c.fixed || c.name == "created_at" || c.name == "updated_at" {
			continue
		}
		values = append(values, v.Field(c.index).Interface())
		sets = append(sets, fmt.Sprintf("%s = $%d", c.name, len(values)))
	}
	_, err := tx.Exec(ctx, `UPDATE `+t.name+` SET `+strings.Join(sets, ", ")+`, updated_at = now() WHERE uuid = $1`, values...)
	return t.translate(err, row)
}

// Writable are the columns that Update writes and clients know.
func (t *Table[T]) Writable() []string {
	var names []string
	for _, c := range t.columns[1:] {
		if c.sql == "" && !c.fixed && c.name != "created_at" && c.name != "updated_at" && c.name != "secrets" {
			names = append(names, c.name)
		}
	}
	return names
}

// Find gives the row with a uuid or, if byName, a name. Errors: NotFound in the
// table's words.
func (t *Table[T]) Find(ctx context.Context, q store.Queryer, ident string, byName bool) (*T, error) {
	return t.ident(ctx, q, ident, byName, false)
}

// Lock is Find that keeps the row as it is until the transaction ends.
func (t *Table[T]) Lock(ctx context.Context, tx store.Tx, ident string, byName bool) (*T, error) {
	return t.ident(ctx, tx, ident, byName, true)
}

func (t *Table[T]) ident(ctx context.Context, q store.Queryer, ident string, byName, lock bool) (*T, error) {
	where := "t.uuid = $1"
	if !IsUUID(ident) {
		if !byName {
			return nil, t.Missing(ident)
		}
		where = "t.name = $1"
	}
	row, err := t.find(ctx, q, lock, where, ident)
	if faults.Is(err, faults.NotFound) {
		err = t.Missing(ident)
	}
	return row, err
}

// Missing is the fault of a row that isn't there.
func (t *Table[T]) Missing(ident string) error {
	return faults.New(faults.NotFound, t.code, t.text, ident)
}

// Delete takes a row away.
func (t *Table[T]) Delete(ctx context.Context, tx store.Tx, row *T) error {
	uuid := reflect.ValueOf(row).Elem().Field(t.columns[0].index).Interface()
	_, err := tx.Exec(ctx, `DELETE FROM `+t.name+` WHERE uuid = $1`, uuid)
	return t.translate(err, row)
}

// find gives the one row for which a condition holds; lock keeps it as it is
// until the transaction ends. faults.NotFound with no text of its own.
func (t *Table[T]) find(ctx context.Context, q store.Queryer, lock bool, where string, args ...any) (*T, error) {
	sql := `SELECT ` + t.selected() + ` FROM ` + t.name + ` t WHERE ` + where
	if lock {
		sql += ` FOR UPDATE OF t`
	}
	row := new(T)
	if err := q.QueryRow(ctx, sql, args...).Scan(t.targets(row)...); err != nil {
		return nil, store.Translate(err)
	}
	return row, nil
}

// translate words a broken constraint.
func (t *Table[T]) translate(err error, row *T) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if refusal, ok := t.taken[pg.ConstraintName]; ok {
			return refusal(row)
		}
	}
	return store.Translate(err)
}

// Filter is a condition on a list: SQL in which $ stands for the value.
type Filter struct {
	SQL   string
	Value any
}

// List says which rows are wanted, and in which order.
type List struct {
	Filters []Filter
	// SortKey is a column; empty is the order in which the rows were made.
	SortKey    string
	Descending bool
	// Marker is the uuid of the last row of the page before.
	Marker string
	Limit  int
}

// List gives a page of rows in one query. Rows that are equal by the sort key
// follow each other by their age, and null comes before everything.
func (t *Table[T]) List(ctx context.Context, q store.Queryer, l List) ([]*T, error) {
	where, args := []string{"true"}, []any{}
	bind := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	for _, f := range l.Filters {
		if f.Value == nil {
			where = append(where, f.SQL)
			continue
		}
		where = append(where, strings.ReplaceAll(f.SQL, "$", bind(f.Value)))
	}
	key, order, beyond := "t.id", "t.id ASC", ">"
	if l.Descending {
		order, beyond = "t.id DESC", "<"
	}
	if l.SortKey != "" && l.SortKey != "id" {
		i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == l.SortKey })
		if i < 0 {
			return nil, faults.New(faults.Invalid, "InvalidParameterValue", "The sort_key value %s is an invalid field for sorting", l.SortKey)
		}
		key = t.columns[i].value()
		order = key + " ASC NULLS FIRST, " + order
		if l.Descending {
			order = key + " DESC NULLS LAST, t.id DESC"
		}
	}
	if l.Marker != "" {
		where = append(where, t.after(key, beyond, bind(l.Marker)))
	}
	rows, err := q.Query(ctx, `SELECT `+t.selected()+` FROM `+t.name+` t WHERE `+strings.Join(where, " AND ")+
		` ORDER BY `+order+` LIMIT `+bind(l.Limit), args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, t.targets)
}

// after is the condition of the rows that follow the marker's.
func (t *Table[T]) after(key, beyond, marker string) string {
	of := func(what string) string {
		return `(SELECT ` + what + ` FROM ` + t.name + ` t WHERE t.uuid = ` + marker + `)`
	}
	if key == "t.id" {
		return `t.id ` + beyond + ` ` + of("t.id")
	}
	tie := `t.id ` + beyond + ` ` + of("t.id")
	further, null := `(`+key+` `+beyond+` `+of(key)+` OR `+key+` = `+of(key)+` AND `+tie+`)`, `(`+key+` IS NOT NULL OR `+tie+`)`
	if beyond == "<" {
		further = `(` + key + ` IS NULL OR ` + further + `)`
		null = `(` + key + ` IS NULL AND ` + tie + `)`
	}
	return `CASE WHEN ` + of(key) + ` IS NULL THEN ` + null + ` ELSE ` + further + ` END`
}

// collect scans all rows.
func collect[T any](rows pgx.Rows, targets func(*T) []any) ([]*T, error) {
	defer rows.Close()
	all := []*T{}
	for rows.Next() {
		row := new(T)
		if err := rows.Scan(targets(row)...); err != nil {
			return nil, store.Translate(err)
		}
		all = append(all, row)
	}
	return all, store.Translate(rows.Err())
}

// IsUUID says whether an id can be in a uuid column; others are simply not found.
func IsUUID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }
