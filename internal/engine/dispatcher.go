package engine

// The dispatcher: starts what was accepted and has not begun, and delivers
// cancels.

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

const (
	// dispatchBatch is how many operations a tick starts, and how many cancels
	// it delivers.
	dispatchBatch = 200
	// dispatchAgain is when an operation that was started, and has still not
	// begun, is started again.
	dispatchAgain = 10 * time.Second
	// cancelAgain is when a cancel is delivered again.
	cancelAgain = 5 * time.Second
	// concurrency is how many calls to Temporal a loop makes at a time.
	concurrency = 8
	// longestPause is what the pause between ticks grows to while a tick fails.
	longestPause = 15 * time.Second
)

// Dispatcher is a loop of the control worker.
type Dispatcher struct {
	engine  *Engine
	runs    runs
	sweeper *Sweeper
}

// Tick starts each operation whose time has come and delivers each cancel that
// is due, once. It stops at the first sign that Temporal is down.
// Errors: Unavailable.
func (d *Dispatcher) Tick(ctx context.Context) error {
	if err := d.startAll(ctx); err != nil {
		return err
	}
	return d.cancelAll(ctx)
}

// startAll leaves out what is merely waiting in Temporal's queue: while older
// operations are beginning, a younger one's turn has not come. Each of them begins
// once, so that nothing waits for longer than for those before it.
func (d *Dispatcher) startAll(ctx context.Context) error {
	due, err := collect(ctx, d.engine.db.Pool, `SELECT `+columns+` FROM engine.operations o
		WHERE finished_at IS NULL AND dispatched_at IS NULL AND start_after <= now()
			AND created_at <= COALESCE((SELECT min(older.created_at) FROM engine.operations older
				WHERE older.finished_at IS NULL AND older.dispatched_at > now() - $2::interval), 'infinity')
		ORDER BY start_after LIMIT $1`, dispatchBatch, starterGrace)
	if err != nil {
		return err
	}
	return each(ctx, due, d.start)
}

// start starts one operation. A workflow of its id that exists already either
// runs, and will begin it, or is closed and never will: the sweeper knows.
func (d *Dispatcher) start(ctx context.Context, op Operation) error {
	exists, err := d.runs.start(ctx, op)
	if err != nil {
		return err
	}
	if exists {
		if err := d.sweeper.examine(ctx, op); err != nil {
			return err
		}
	}
	return d.mark(ctx, `UPDATE engine.operations SET start_after = now() + $2::interval
		WHERE id = $1 AND start_after IS NOT NULL`, op.ID, dispatchAgain)
}

func (d *Dispatcher) cancelAll(ctx context.Context) error {
	due, err := collect(ctx, d.engine.db.Pool, `SELECT `+columns+` FROM engine.operations o
		WHERE finished_at IS NULL AND cancel_requested_at IS NOT NULL AND dispatched_at IS NOT NULL
			AND (cancel_sent_at IS NULL OR cancel_sent_at <= now() - $2::interval)
		ORDER BY cancel_sent_at NULLS FIRST LIMIT $1`, dispatchBatch, cancelAgain)
	if err != nil {
		return err
	}
	return each(ctx, due, func(ctx context.Context, op Operation) error {
		if err := d.runs.cancel(ctx, op.ID); err != nil {
			return err
		}
		return d.mark(ctx, `UPDATE engine.operations SET cancel_sent_at = now() WHERE id = $1`, op.ID)
	})
}

// mark writes one row, on its own: many in one statement could wait for each
// other with a transaction that holds a resource.
func (d *Dispatcher) mark(ctx context.Context, sql string, args ...any) error {
	_, err := d.engine.db.Pool.Exec(ctx, sql, args...)
	return store.Translate(err)
}

// each does something for many operations, a few at a time. What can't be done
// for one is logged and doesn't keep the others; Unavailable ends it all.
func each(ctx context.Context, ops []Operation, do func(context.Context, Operation) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, op := range ops {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := do(ctx, op)
			if err == nil || faults.Is(err, faults.Unavailable) || ctx.Err() != nil {
				return err
			}
			slog.ErrorContext(ctx, "an operation could not be dealt with", "operation", op.ID, "error", err)
			return nil
		})
	}
	return group.Wait()
}
