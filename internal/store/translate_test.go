package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// A broken connection may be tried again; a broken statement is a bug.
func TestTranslate(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), testenv.Database(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(db *store.DB, sql string, args ...any) error {
		return db.InTx(t.Context(), func(tx store.Tx) error {
			var n int
			return tx.QueryRow(t.Context(), sql, args...).Scan(&n)
		})
	}
	nowhere, err := store.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", 1)
	if err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	closed, err := store.Open(t.Context(), testenv.Database(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, c := range map[string]struct {
		err  error
		kind faults.Kind
	}{
		"too few arguments":     {ask(db, "SELECT $1::int"), faults.Internal},
		"too many arguments":    {ask(db, "SELECT 1", 1), faults.Internal},
		"what can't be scanned": {ask(db, "SELECT 'x'"), faults.Internal},
		"a null":                {ask(db, "SELECT NULL::int"), faults.Internal},
		"an argument's type":    {ask(db, "SELECT $1::int", struct{}{}), faults.Internal},
		"no such table":         {ask(db, "SELECT 1 FROM none"), faults.Internal},
		"no row":                {ask(db, "SELECT 1 WHERE false"), faults.NotFound},
		"a fault":               {faults.New(faults.Conflict, "X", "x"), faults.Conflict},
		"an error of ours":      {store.Translate(errors.New("x")), faults.Internal},
		"nobody listens":        {ask(nowhere, "SELECT 1"), faults.Unavailable},
		"a closed pool":         {ask(closed, "SELECT 1"), faults.Unavailable},
		"a cut connection":      {store.Translate(fmt.Errorf("read: %w", io.ErrUnexpectedEOF)), faults.Unavailable},
		"a killed connection":   {ask(db, "SELECT pg_terminate_backend(pg_backend_pid())::int"), faults.Unavailable},
		"no time left":          {store.Translate(db.Pool.Ping(late)), faults.Unavailable},
	} {
		if got := faults.As(c.err); got == nil || got.Kind != c.kind {
			t.Errorf("%s: %v, want %s", name, c.err, c.kind)
		}
	}
	nowhere.Close()
	db.Close()
}
