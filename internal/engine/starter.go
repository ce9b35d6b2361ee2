package engine

// The starter: the short way from an accepted operation to its workflow.

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"go.temporal.io/sdk/client"

	"holdfast.dev/internal/steps"
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

	mu sync.Mutex
	// knocks are what operations are yet to be knocked at for, while an errand for that
	// waits or is under way.
	knocks map[string][]int64
}

// everything is the number of no node: all are to be looked at.
const everything = 0

// maxNodes is how many nodes one knock names; more of them are all.
const maxNodes = 1000

// errand is something to do for one operation.
type errand struct {
	id    string
	knock bool
}

// NewStarter makes a starter of workflows on the task queue named. At most size
// errands wait, and workers are done at a time.
func (e *Engine) NewStarter(c client.Client, queue string, size, workers int) *Starter {
	return &Starter{engine: e, runs: runs{c, queue}, queue: make(chan errand, size), workers: workers, knocks: map[string][]int64{}}
}

// Offer has an accepted operation started, after the commit. It never blocks.
func (s *Starter) Offer(operationID string) { s.put(errand{id: operationID}) }

// Knock tells an operation's workflow, after the commit, that its inbox has
// something new. It never blocks.
func (s *Starter) Knock(operationID string) { s.KnockAt(operationID, everything) }

// KnockAt is Knock for one node of the operation's graph, which alone has something
// new. Those that come while the workflow is being knocked at go together.
func (s *Starter) KnockAt(operationID string, node int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes, underWay := s.knocks[operationID]
	if len(nodes) == maxNodes {
		nodes, node = nil, everything
	}
	if underWay || s.put(errand{id: operationID, knock: true}) {
		s.knocks[operationID] = append(nodes, node)
	}
}

func (s *Starter) put(e errand) bool {
	select {
	case s.queue <- e:
		return true
	default:
		slog.Debug("the starter is full; the dispatcher will start the operation", "operation", e.id)
		return false
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
		return s.knock(ctx, e.id)
	}
	op, err := s.engine.Get(ctx, s.engine.db.Pool, e.id)
	if err != nil || op.Begun() || op.Finished() || op.StartAfter == nil {
		return err
	}
	_, err = s.runs.start(ctx, op)
	return err
}

// knock knocks at a workflow until there is nothing more to knock for.
func (s *Starter) knock(ctx context.Context, id string) (err error) {
	for err == nil {
		of, left := s.takeKnocks(id)
		if !left {
			return nil
		}
		err = s.runs.knock(ctx, id, of)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.knocks, id)
	return err
}

// takeKnocks gives what an operation is to be knocked at for by now, if there is anything.
func (s *Starter) takeKnocks(id string) (of steps.Knocked, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := s.knocks[id]
	if len(nodes) == 0 {
		delete(s.knocks, id)
		return of, false
	}
	s.knocks[id] = nil
	if !slices.Contains(nodes, everything) {
		of.Nodes = nodes
	}
	return of, true
}
