package engine

// The starter: the short way from an accepted operation to its workflow.

import (
	"context"
	"log/slog"
	"sync"

	"go.temporal.io/sdk/client"
)

// Starter starts workflows, and knocks at them, for the process that has just
// committed something for them. Its queue is bounded and it never tries twice:
// what it drops or fails at is the dispatcher's in two seconds, and a workflow
// that was not knocked at reads its inbox when it wakes.
type Starter struct {
	engine  *Engine
	runs    runs
	queue   chan errand
	workers int
}

// errand is something to do for one operation.
type errand struct {
	id    string
	knock bool
}

// NewStarter makes a starter of workflows on the task queue named. At most size
// errands wait, and workers are done at a time.
func (e *Engine) NewStarter(c client.Client, queue string, size, workers int) *Starter {
	return &Starter{engine: e, runs: runs{c, queue}, queue: make(chan errand, size), workers: workers}
}

// Offer has an accepted operation started, after the commit. It never blocks.
func (s *Starter) Offer(operationID string) { s.put(errand{id: operationID}) }

// Knock tells an operation's workflow, after the commit, that its inbox has
// something new. It never blocks.
func (s *Starter) Knock(operationID string) { s.put(errand{id: operationID, knock: true}) }

func (s *Starter) put(e errand) {
	select {
	case s.queue <- e:
	default:
		slog.Debug("the starter is full; the dispatcher will start the operation", "operation", e.id)
	}
}

// Run works until ctx ends; what waits then is the dispatcher's.
func (s *Starter) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-s.queue:
					if err := s.do(ctx, e); err != nil && ctx.Err() == nil {
						slog.WarnContext(ctx, "left to the dispatcher", "operation", e.id, "knock", e.knock, "error", err)
					}
				}
			}
		})
	}
	workers.Wait()
}

func (s *Starter) do(ctx context.Context, e errand) error {
	if e.knock {
		return s.runs.knock(ctx, e.id)
	}
	op, err := s.engine.Get(ctx, s.engine.db.Pool, e.id)
	if err != nil || op.Begun() || op.Finished() || op.StartAfter == nil {
		return err
	}
	_, err = s.runs.start(ctx, op)
	return err
}
