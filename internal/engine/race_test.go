package engine_test

// Everything at once, on a few resources: nobody waits for ever, and what must
// hold holds afterwards.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	things := []string{w.newThing(), w.newThing(), w.newThing()}
	kinds := []operations.Kind{operations.ServerBuild, operations.ServerDelete, operations.ServerReboot, operations.ServerHardReboot, operations.ServerAttachVolume, operations.ServerDetachInterface}
	expected := []faults.Kind{faults.Conflict, faults.Superseded}

	var fences sync.Map // operation id -> its newest fence
	one := func(ctx context.Context, tx store.Tx, random *rand.Rand, run string) (err error) {
		thing := things[random.IntN(len(things))]
		open, err := w.e.Operations(ctx, tx, engine.Filter{ResourceID: thing, State: engine.Unfinished})
		if err != nil || len(open) == 0 || random.IntN(4) == 0 {
			if err == nil {
				_, err = w.e.Accept(ctx, tx, engine.Request{Kind: kinds[random.IntN(len(kinds))], ResourceID: thing})
			}
			return err
		}
		op := open[random.IntN(len(open))].ID
		known, _ := fences.Load(op)
		f, _ := known.(steps.Fence)
		switch random.IntN(6) {
		case 0:
			out, err := w.e.Begin(ctx, tx, steps.BeginIn{OperationID: op, RunID: run})
			if err == nil && out.Verdict == steps.Run {
				fences.Store(op, steps.Fence{OperationID: op, Generation: out.Generation, RunID: run})
			}
			if faults.Is(err, faults.Unavailable) && faults.As(err).Code == "NotItsTurn" {
				return nil
			}
			return err
		case 1, 2:
			_, err = w.e.Advance(ctx, tx, steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest(run)}})
		case 3:
			_, err = w.e.Finish(ctx, tx, steps.FinishIn{Fence: f, Result: operations.ResultDone})
		case 4:
			_, err = w.e.RequestCancel(ctx, tx, op, run)
		case 5:
			_, err = w.e.Recover(ctx, tx, op, "a test")
		}
		return err
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for i := range 100 {
				err := w.db.InTx(t.Context(), func(tx store.Tx) error {
					return one(t.Context(), tx, random, fmt.Sprintf("run-%d-%d", worker, i))
				})
				if err != nil && !slices.Contains(expected, faults.As(err).Kind) {
					t.Errorf("worker %d, round %d: %v", worker, i, err)
				}
			}
		})
	}
	group.Wait()
	w.silent()
	for _, id := range things {
		if at := w.thing(id); at.generation == 0 {
			t.Errorf("nothing happened to %s: %+v", id, at)
		}
	}
}
