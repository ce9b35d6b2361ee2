package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// BenchmarkLife is the database's part of an operation with two steps and two
// effects, from accept to finish: five transactions.
func BenchmarkLife(b *testing.B) {
	w := newWorld(b)
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		id := w.newThing()
		for pb.Next() {
			f := w.begin(w.accept(operations.ServerBuild, id).OperationID, fmt.Sprint("run-", n.Add(1)))
			w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepSchedule, Intend: []operations.Effect{claim("h1")}})
			w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Host: "h1", Intend: []operations.Effect{guest("h1")}})
			w.finish(f, operations.ResultDone)
		}
	})
}
