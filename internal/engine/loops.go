package engine

// The loops of the control worker, of which one process at a time runs one set.

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"
)

const (
	// loopsLock is the key of the advisory lock under which the loops run.
	loopsLock = 0x486f6c6466617374
	// lockPause is how often the lock is asked for, and the connection that
	// holds it is asked whether it lives.
	lockPause = 2 * time.Second
	tickPause = time.Second
	// sweepPause is how often operations that are due for a look are looked for.
	sweepPause = 3 * time.Second
)

// Loops run the dispatcher and the sweeper.
type Loops struct {
	engine     *Engine
	dispatcher *Dispatcher
	sweeper    *Sweeper

	mu     sync.Mutex
	health Health
}

// Health is what the loops know of themselves, for /healthcheck and metrics.
type Health struct {
	// Leading says that this process runs the loops; another one does otherwise.
	Leading             bool
	Dispatcher, Sweeper Beat
	// Alarm says that many workflows were lost within minutes: Temporal has
	// lost its database. They are being started again.
	Alarm bool
}

// Beat is how a loop is.
type Beat struct {
	// Last is when it last got through a round.
	Last time.Time
	// Trouble is what the round since then failed with; empty if it didn't.
	Trouble string
}

// NewLoops makes the loops for workflows on the task queue named.
func (e *Engine) NewLoops(c client.Client, queue string) *Loops {
	r := runs{c, queue}
	sweeper := newSweeper(e, r)
	return &Loops{engine: e, dispatcher: &Dispatcher{e, r, sweeper}, sweeper: sweeper}
}

// Dispatcher and Sweeper give the loops one by one, for whoever does a single
// round by hand.
func (l *Loops) Dispatcher() *Dispatcher { return l.dispatcher }

// Sweeper: see Dispatcher.
func (l *Loops) Sweeper() *Sweeper { return l.sweeper }

// Health says how the loops are.
func (l *Loops) Health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.health
	h.Alarm = l.sweeper.alarm.on()
	return h
}

// Run runs the loops until ctx ends, whenever this process holds the lock.
func (l *Loops) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.lead(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "the engine's loops are not run here", "error", err)
		}
		pause(ctx, lockPause)
	}
}

// lead takes the lock on a connection of its own, if it is free, and runs the
// loops for as long as that connection lives: PostgreSQL lets go of the lock
// when it is lost.
func (l *Loops) lead(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.engine.db.Pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connect for the lock: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var mine bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(loopsLock)).Scan(&mine); err != nil || !mine {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var loops sync.WaitGroup
	loops.Go(func() { l.repeat(ctx, tickPause, l.dispatcher.Tick, &l.health.Dispatcher) })
	loops.Go(func() { l.repeat(ctx, sweepPause, l.sweeper.Sweep, &l.health.Sweeper) })
	l.note(func() { l.health.Leading = true })
	defer l.note(func() { l.health.Leading = false })
	defer loops.Wait()
	defer stop()
	for {
		pause(ctx, lockPause)
		if ctx.Err() != nil {
			return nil
		}
		if err := ping(ctx, conn); err != nil {
			return fmt.Errorf("the connection with the lock: %w", err)
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, lockPause)
	defer cancel()
	return conn.Ping(ctx)
}

// repeat does a round again and again, ever more slowly while it fails.
func (l *Loops) repeat(ctx context.Context, every time.Duration, round func(context.Context) error, beat *Beat) {
	wait := every
	for ctx.Err() == nil {
		err := round(ctx)
		if ctx.Err() != nil {
			return
		}
		l.note(func() {
			if err != nil {
				beat.Trouble = err.Error()
			} else {
				*beat = Beat{Last: time.Now()}
			}
		})
		if err == nil {
			wait = every
		} else {
			slog.WarnContext(ctx, "a round of the engine's loops failed", "error", err, "again_in", wait)
			wait = min(2*wait, longestPause)
		}
		pause(ctx, wait)
	}
}

func (l *Loops) note(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
