package compute

// What the queries of every noun share.

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// collect scans all rows into values whose scan targets fields gives.
func collect[T any](rows pgx.Rows, fields func(*T) []any) ([]*T, error) {
	defer rows.Close()
	var all []*T
	for rows.Next() {
		t := new(T)
		if err := rows.Scan(fields(t)...); err != nil {
			return nil, store.Translate(err)
		}
		all = append(all, t)
	}
	return all, store.Translate(rows.Err())
}

// pairs scans rows of a text and a value.
func pairs[V any](rows pgx.Rows) (map[string]V, error) {
	defer rows.Close()
	all := map[string]V{}
	for rows.Next() {
		var key string
		var value V
		if err := rows.Scan(&key, &value); err != nil {
			return nil, store.Translate(err)
		}
		all[key] = value
	}
	return all, store.Translate(rows.Err())
}

// isUUID says whether an id can be in a uuid column; others are simply not found.
func isUUID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

// isText says whether an id can be in a text column; others are simply not found.
func isText(id string) bool { return !strings.ContainsRune(id, 0) && utf8.ValidString(id) }

// limit is a LIMIT that means "none" at zero.
func limit(n int) int64 {
	if n == 0 {
		return math.MaxInt64
	}
	return int64(n)
}

// orEmpty keeps null out of jsonb columns.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func isUnique(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && pg.ConstraintName == constraint
}

func isInvalidRegexp(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "2201B"
}

func markerNotFound(marker string) error {
	return faults.New(faults.Invalid, "MarkerNotFound", "marker [%s] not found", marker)
}
