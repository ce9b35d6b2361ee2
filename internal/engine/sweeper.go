package engine

// The sweeper: proves that every operation that has begun has a workflow that
// lives, and repairs what breaks that.

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"holdfast.dev/internal/store"
)

const (
	// sweepBatch is how many operations are read at a time, and maxBatches how
	// often a sweep does so.
	sweepBatch = 200
	maxBatches = 20
	// checkAgain is how long an operation that was seen alive is believed to be.
	checkAgain = 15 * time.Second
	// looksPerSecond bounds what the sweeper asks of Temporal: 2,000 open
	// operations are seen within a minute.
	looksPerSecond = 50
	// restartsPerSecond bounds the starts from nothing, when Temporal has lost
	// everything.
	restartsPerSecond = 40
	// alarmAt lost workflows within alarmTime are an alarm.
	alarmAt   = 10
	alarmTime = 5 * time.Minute
)

// Sweeper is a loop of the control worker.
type Sweeper struct {
	engine   *Engine
	runs     runs
	looks    *rate.Limiter
	restarts *rate.Limiter
	alarm    alarm
}

func newSweeper(e *Engine, r runs) *Sweeper {
	return &Sweeper{
		engine:   e,
		runs:     r,
		looks:    rate.NewLimiter(looksPerSecond, concurrency),
		restarts: rate.NewLimiter(restartsPerSecond, concurrency),
	}
}

// Sweep gives up what could not begin in time, and looks at every operation
// that was not seen for a while, the longest unseen first. Errors: Unavailable.
func (s *Sweeper) Sweep(ctx context.Context) error {
	if err := s.giveUp(ctx); err != nil {
		return err
	}
	for range maxBatches {
		n, err := s.lookAtSome(ctx)
		if err != nil || n < sweepBatch {
			return err
		}
	}
	return nil
}

func (s *Sweeper) giveUp(ctx context.Context) error {
	overdue, err := collect(ctx, s.engine.db.Pool, `SELECT `+columns+` FROM engine.operations o
		WHERE finished_at IS NULL AND dispatched_at IS NULL AND start_after IS NOT NULL AND deadline < now()
		ORDER BY deadline LIMIT $1`, sweepBatch)
	if err != nil {
		return err
	}
	return each(ctx, overdue, func(ctx context.Context, op Operation) error {
		return s.engine.db.InTx(ctx, func(tx store.Tx) error { return s.engine.giveUp(ctx, tx, op.ID) })
	})
}

// lookAtSome says how many it looked at.
func (s *Sweeper) lookAtSome(ctx context.Context) (int, error) {
	unseen, err := collect(ctx, s.engine.db.Pool, `SELECT `+columns+` FROM engine.operations o
		WHERE finished_at IS NULL AND dispatched_at IS NOT NULL AND checked_at <= now() - $2::interval
		ORDER BY checked_at LIMIT $1`, sweepBatch, checkAgain)
	if err != nil {
		return 0, err
	}
	return len(unseen), each(ctx, unseen, s.examine)
}

// examine looks at an operation's workflow first and at its row after that: a
// workflow that is closed by then has written all it ever will.
func (s *Sweeper) examine(ctx context.Context, op Operation) error {
	if err := s.looks.Wait(ctx); err != nil {
		return err
	}
	found, err := s.runs.look(ctx, op.ID)
	if err != nil {
		return err
	}
	switch found {
	case lost:
		return s.restart(ctx, op.ID)
	case closed:
		return s.recover(ctx, op.ID, "its workflow ended without finishing it")
	case paused, failing:
		return s.seen(ctx, op.ID, string(found))
	}
	return s.seen(ctx, op.ID, "")
}

// seen notes that the workflow is there, and what an operator does to it.
func (s *Sweeper) seen(ctx context.Context, id, hold string) error {
	_, err := s.engine.db.Pool.Exec(ctx, `UPDATE engine.operations SET checked_at = now(), hold = $2
		WHERE id = $1 AND `+unended, id, hold)
	return store.Translate(err)
}

// restart starts from nothing an operation that Temporal does not know. One
// whose time is over is recovered instead.
func (s *Sweeper) restart(ctx context.Context, id string) error {
	op, err := s.engine.Get(ctx, s.engine.db.Pool, id)
	if err != nil || op.Finished() || op.StartAfter == nil {
		return err
	}
	s.alarm.ring()
	if op.Begun() && time.Now().After(op.Deadline) {
		return s.recover(ctx, id, "its workflow was lost and its deadline has passed")
	}
	if err := s.restarts.Wait(ctx); err != nil {
		return err
	}
	slog.WarnContext(ctx, "a workflow was lost and is started again", "operation", op.ID, "step", op.Step)
	if _, err := s.runs.start(ctx, op); err != nil {
		return err
	}
	return s.seen(ctx, id, "")
}

// recover hands a dead operation to a recover operation, which the dispatcher
// starts at its next tick.
func (s *Sweeper) recover(ctx context.Context, id, why string) error {
	var heir string
	err := s.engine.db.InTx(ctx, func(tx store.Tx) (err error) {
		heir, err = s.engine.Recover(ctx, tx, id, why)
		return err
	})
	if err != nil {
		return err
	}
	if heir != "" {
		slog.WarnContext(ctx, "a dead operation is recovered", "operation", id, "by", heir, "why", why)
	}
	return s.seen(ctx, id, "")
}

// alarm counts lost workflows: one was perhaps deleted by hand, many mean that
// Temporal has lost its database.
type alarm struct {
	sync.Mutex
	times []time.Time // at most alarmAt, the newest
}

func (a *alarm) ring() {
	a.Lock()
	defer a.Unlock()
	a.times = append(a.times, time.Now())
	if len(a.times) > alarmAt {
		a.times = a.times[1:]
	}
}

// on says whether alarmAt workflows were lost within alarmTime.
func (a *alarm) on() bool {
	a.Lock()
	defer a.Unlock()
	return len(a.times) == alarmAt && time.Since(a.times[0]) < alarmTime
}
