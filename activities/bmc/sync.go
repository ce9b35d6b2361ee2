package bmc

// Power by the clock: what BMCs say of it is compared with the rows of their nodes.

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// SyncOptions are what is done with power that is out of step.
type SyncOptions struct {
	// Force brings machines to what their rows say; otherwise rows are made to say what
	// machines are.
	Force bool
	// MaxRetries is how often in a row a node may fail before it is in maintenance.
	MaxRetries int
	// Timeout is how long a machine may take to be brought back; 0 is a minute.
	Timeout time.Duration
	// Workers is how many BMCs are asked at a time; 0 is 100. As many of those that have
	// failed before are asked beside them, and wait for each other alone.
	Workers int
}

const (
	// syncTime bounds what a BMC takes for its answer.
	syncTime    = 10 * time.Second
	syncWorkers = 100
)

// lanes are those who ask BMCs by the clock, in the whole process: the good ones are not
// delayed by those that have failed before.
type lanes struct{ good, failing *semaphore.Weighted }

func newLanes(workers int) lanes {
	if workers == 0 {
		workers = syncWorkers
	}
	return lanes{semaphore.NewWeighted(int64(workers)), semaphore.NewWeighted(int64(workers))}
}

// SyncPower is idempotent by observing: what agrees is left alone, what an operation has
// is left to it, and a failure is counted once a round. Errors: Unavailable (the
// database).
func (a *Activities) SyncPower(ctx context.Context, in steps.SyncNodesIn) (steps.SyncNodesOut, error) {
	all, failed, err := baremetal.NodesOfPage(ctx, a.db.Pool, baremetal.NodePage(in.NodePage), in.Recovers, steps.NodePageSize)
	if err != nil {
		return steps.SyncNodesOut{}, err
	}
	var working sync.WaitGroup
	var unseen atomic.Int64
	var wrong atomic.Pointer[error]
	for _, n := range all {
		lane := a.lanes.good
		if failed[n.UUID] > 0 || in.Recovers {
			lane = a.lanes.failing
		}
		working.Go(func() {
			if lane.Acquire(ctx, 1) != nil {
				return // the step has ended
			}
			defer lane.Release(1)
			seen, err := a.compare(ctx, n, in, failed[n.UUID] > 0)
			if !seen {
				unseen.Add(1)
			}
			if err != nil {
				wrong.CompareAndSwap(nil, &err)
			}
		})
	}
	working.Wait()
	out := steps.SyncNodesOut{Nodes: len(all), Failed: int(unseen.Load())}
	if err := wrong.Load(); err != nil {
		return out, *err
	}
	return out, context.Cause(ctx)
}

// compare asks a node's BMC, and makes row and machine agree.
func (a *Activities) compare(ctx context.Context, n *baremetal.Node, in steps.SyncNodesIn, failedBefore bool) (seen bool, err error) {
	if !nodes.HasPower(n) || n.PowerState == nil && nodes.MayBeReached(a.box, n) != nil {
		return true, nil // nobody expects anything of it
	}
	now, unseen := a.seen(ctx, n)
	switch {
	case ctx.Err() != nil:
		return false, nil
	case in.Recovers && unseen != nil:
		return false, nil
	case unseen == nil && !in.Recovers && !failedBefore && n.LastError == nil && agrees(n, now):
		return true, nil
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		n, still, err := baremetal.InRound(ctx, tx, n.UUID, in.Recovers)
		switch {
		case err != nil || !still:
			return err
		case in.Recovers:
			return baremetal.RecoverPower(ctx, tx, n.UUID, now)
		case unseen == nil && (n.PowerState == nil || agrees(n, now)):
			return baremetal.KeepPower(ctx, tx, n.UUID, now)
		}
		return a.correct(ctx, tx, n, now, unseen, in.Round)
	})
	return unseen == nil, err
}

// agrees says whether a row has a power.
func agrees(n *baremetal.Node, now provision.Power) bool {
	return n.PowerState != nil && provision.Power(*n.PowerState) == now || n.PowerState == nil && now == ""
}

// seen is what a node's BMC says of its power. It takes no lease: nothing is changed.
func (a *Activities) seen(ctx context.Context, n *baremetal.Node) (now provision.Power, err error) {
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	s := &session{Activities: a, node: n}
	if s.driver, err = s.openDriver(ctx); err != nil {
		return "", err
	}
	defer s.driver.close(ctx)
	if now, err = s.driver.power(ctx); err == nil && now == "" {
		err = faults.New(faults.Unavailable, "PowerStateFailure", "Power driver returned ERROR state while trying to sync power state.")
	}
	return now, err
}

// correct is what comes of a node, locked, that is out of step, or whose BMC doesn't say:
// another try at the next round, until there have been too many.
func (a *Activities) correct(ctx context.Context, tx store.Tx, n *baremetal.Node, now provision.Power, unseen error, round string) error {
	times, err := baremetal.FailPower(ctx, tx, n.UUID, round)
	if err != nil {
		return err
	}
	switch {
	case times > a.Sync.MaxRetries:
		return baremetal.GiveUpPower(ctx, tx, n.UUID, now, givenUp(n, now, unseen))
	case unseen != nil:
		return nil
	case a.Sync.Force && nodes.HasBMC(n) && !n.DisablePowerOff && n.Conductor != nil:
		return a.bringBack(ctx, tx, n)
	}
	return baremetal.SetPower(ctx, tx, n.UUID, now)
}

// givenUp says why a node is in maintenance, in the original's words.
func givenUp(n *baremetal.Node, now provision.Power, unseen error) string {
	is, was := "None", "None"
	if now != "" {
		is = string(now)
	}
	if n.PowerState != nil {
		was = *n.PowerState
	}
	why := fmt.Sprintf("During sync_power_state, max retries exceeded for node %s, node state %s does not match expected state '%s'. "+
		"Updating DB state to '%s' Switching node to maintenance mode.", n.UUID, is, was, is)
	if unseen != nil {
		why += " Error: " + faults.As(unseen).Message
	}
	return why
}

// bringBack has an operation bring a node's machine to what its row says.
func (a *Activities) bringBack(ctx context.Context, tx store.Tx, n *baremetal.Node) error {
	_, err := a.engine.Accept(ctx, tx, engine.Request{Kind: operations.NodePower, ResourceID: n.UUID,
		Input: steps.NodePowerInput{Target: *n.PowerState, Timeout: a.Sync.Timeout, Keeps: true}})
	if err != nil {
		return err
	}
	if err := baremetal.Reserve(ctx, tx, n.UUID, *n.Conductor); err != nil {
		return err
	}
	return baremetal.AwaitPower(ctx, tx, n.UUID, provision.Power(*n.PowerState))
}
