package server_test

// Live migration: every incident at every call, and the failures of the original
// that must not be.

import (
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// migrating is a server whose live migration was asked for; more changes it.
func migrating(more ...func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerLiveMigrate,
			workflowtest.Server{VMState: "active", TaskState: "migrating", PowerState: 1}, "host-1", "host-2").Place("host-1").Moving()
		w.Op.Input = []byte(`{}`)
		for _, change := range more {
			change(w)
		}
		return w
	}
}

const isMoved = "active, power 1, on a host"

func TestLiveMigrate(t *testing.T) {
	cancel := func(w *workflowtest.World) { w.Op.CancelRequested = true }
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.LiveMigrate,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: migrating(), Result: operations.ResultDone},
			{Name: "queued", World: migrating(func(w *workflowtest.World) { w.Moves.Queue = 3 }), Result: operations.ResultDone},
			{Name: "with ports", World: migrating(func(w *workflowtest.World) { w.Neutron.Asked, w.Neutron.Bound = 1, "host-1" }), Result: operations.ResultDone},
			{Name: "with volumes", World: migrating(func(w *workflowtest.World) {
				w.Cinder.Asked, w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = 1, true, "host-1", true
			}), Result: operations.ResultDone},
			{Name: "forced to complete", World: migrating(func(w *workflowtest.World) { w.Moves.Asked = true }), Result: operations.ResultDone},
			{Name: "cancelled at once", World: migrating(cancel), Result: operations.ResultCancelled, Message: "the operation was cancelled"},
			{Name: "no other host", World: migrating(func(w *workflowtest.World) { w.Hosts["host-2"].Up = false }),
				Result: operations.ResultFailed, Message: "No valid host was found."},
			{Name: "the other host is unfit", World: migrating(func(w *workflowtest.World) { w.Moves.Unfit = true }),
				Result: operations.ResultFailed, Message: "Migration pre-check error: no such CPU"},
			{Name: "hypervisors give it up", World: migrating(func(w *workflowtest.World) { w.Moves.Stuck = true }),
				Result: operations.ResultFailed, Message: "Migration error: the other host does not answer"},
			{Name: "nobody but the other host can know", World: migrating(func(w *workflowtest.World) { w.Moves.Stuck, w.Moves.Unsettled = true, true }), Once: true,
				Result: operations.ResultFailed, Message: "Migration error: the other host does not answer"},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isMoved, isMoved + ", with ports", isMoved + ", with volumes"},
			operations.ResultCancelled: {isMoved, isMoved + ", with ports", isMoved + ", with volumes"},
			operations.ResultFailed:    {isMoved, isMoved + ", with ports", isMoved + ", with volumes"},
		},
	})
}

// ended says how the story ends in a world, and on which host the server is.
func ended(t *testing.T, world func() *workflowtest.World, result operations.Result, status, host string) {
	t.Helper()
	w := workflowtest.Told(t, server.LiveMigrate, world)
	if w.Op.Result != result || w.Moves.Ended != status || w.Server.Host != host || w.Server.TaskState != "" {
		t.Errorf("%s, migration %q, on %q in task %q; want %s, %q, on %q", w.Op.Result, w.Moves.Ended, w.Server.Host, w.Server.TaskState, result, status, host)
	}
}

// lostInMove is a migration whose run was lost in the step move; the guest had
// left by then, or not.
func lostInMove(left bool) func(*workflowtest.World) {
	return func(w *workflowtest.World) {
		source, dest := w.Hosts["host-1"], w.Hosts["host-2"]
		w.Moves.Row.Dest, w.Moves.Row.Status = "host-2", "running"
		delete(source.Claims, workflowtest.ServerID)
		source.Claims[workflowtest.MigrationID], dest.Claims[workflowtest.ServerID] = true, true
		w.Op.Step, w.Op.Attempt = operations.StepMove, 1
		w.Ledger = []operations.Effect{
			{Seq: 1, Kind: operations.EffectHandover, Ref: workflowtest.MigrationID, Host: "host-1", Attempt: 1, State: operations.Done},
			{Seq: 2, Kind: operations.EffectClaim, Ref: workflowtest.ServerID, Host: "host-2", Attempt: 1, State: operations.Done},
			{Seq: 3, Kind: operations.EffectGuest, Ref: workflowtest.ServerID, Host: "host-2", Attempt: 1, State: operations.Intended},
		}
		if left {
			delete(source.Guests, workflowtest.ServerID)
			dest.Guests[workflowtest.ServerID], dest.Power = true, 1
		}
	}
}

// Row 3: a restart during a live migration left "migrating" for ever. The hosts
// are asked where the guest is, and the story ends from there.
func TestAnchor03RestartDuringLiveMigration(t *testing.T) {
	ended(t, migrating(lostInMove(true)), operations.ResultDone, "completed", "host-2")
	ended(t, migrating(lostInMove(false)), operations.ResultDone, "completed", "host-2")
	ended(t, migrating(lostInMove(false), func(w *workflowtest.World) { w.Op.CancelRequested = true }), operations.ResultCancelled, "cancelled", "host-1")
}

// Row 4: an error of a late cleanup left "migrating" for ever. The cleanup is
// owed, and the migration is over.
func TestAnchor04LateCleanupFails(t *testing.T) {
	ended(t, migrating(lostInMove(true), func(w *workflowtest.World) { w.Down("host-1") }), operations.ResultDone, "completed", "host-2")
	ended(t, migrating(lostInMove(true), func(w *workflowtest.World) {
		w.Neutron.Asked, w.Neutron.Bound = 1, "host-2"
		w.Hosts["host-1"].Answers = false
	}), operations.ResultDone, "completed", "host-2")
}

// Row 5: nobody could know whether a migration had been started. A second run of
// the same operation finds what the first has done and claims nothing twice.
func TestAnchor05StartedTwice(t *testing.T) {
	world := migrating()()
	for range 2 {
		workflowtest.Told(t, server.LiveMigrate, func() *workflowtest.World { return world })
	}
	if world.Op.Finished != 1 || world.Server.Host != "host-2" || world.Moves.Ended != "completed" {
		t.Errorf("finished %d times, on %q, %q", world.Op.Finished, world.Server.Host, world.Moves.Ended)
	}
}

// A guest that stands still on its old host may run on a new one that doesn't
// answer: whoever cancels waits until that has said that it has nothing of it.
func TestCancelOfAnUnsettledLiveMigration(t *testing.T) {
	ended(t, migrating(lostInMove(false), func(w *workflowtest.World) {
		w.Moves.Unsettled, w.Op.CancelRequested = true, true
		w.Down("host-2")
	}), operations.ResultCancelled, "cancelled", "host-1")
}

// Row 6: the abort of a queued live migration left "migrating" for ever. It ends here
// whenever it is aborted, and the guest stays where it is.
func TestAnchor06QueuedIsAborted(t *testing.T) {
	queued := migrating(func(w *workflowtest.World) { w.Moves.Queue = 3 })
	looks := slices.DeleteFunc(workflowtest.Told(t, server.LiveMigrate, queued).Calls(), func(c workflowtest.Call) bool { return c.Step != "records.Moving" })
	for _, look := range looks[:3] {
		ended(t, func() *workflowtest.World { return queued().CancelledAt(look) }, operations.ResultCancelled, "cancelled", "host-1")
	}
}

// Row 17: failures of pre-checks and rollbacks left the claim on the other host.
func TestAnchor17FailuresLeaveNoClaim(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*workflowtest.World)
		status string
	}{
		"pre-check":           {func(w *workflowtest.World) { w.Moves.Unfit = true }, "error"},
		"rollback":            {func(w *workflowtest.World) { w.Moves.Stuck = true }, "failed"},
		"the other host dies": {func(w *workflowtest.World) { lostInMove(false)(w); w.Down("host-2") }, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			ended(t, migrating(c.change), operations.ResultFailed, c.status, "host-1")
		})
	}
}

// A live migration that was lost is recovered: to its end if the guest has left,
// otherwise to what was before.
func TestRecoverLiveMigration(t *testing.T) {
	for name, c := range map[string]struct {
		left         bool
		status, host string
	}{"the guest has left": {true, "completed", "host-2"}, "the guest has stayed": {false, "failed", "host-1"}} {
		t.Run(name, func(t *testing.T) {
			w := workflowtest.Told(t, server.Recover, func() *workflowtest.World {
				w := workflowtest.NewWorld(operations.ServerRecover,
					workflowtest.Server{VMState: "active", TaskState: "migrating", PowerState: 1}, "host-1", "host-2").Place("host-1").Moving()
				lostInMove(c.left)(w)
				w.Op.Step = ""
				w.Recovers = &steps.Recovered{OperationID: "dead", Kind: operations.ServerLiveMigrate, Step: operations.StepMove}
				return w
			})
			if w.Moves.Ended != c.status || w.Server.Host != c.host {
				t.Errorf("migration %q, on %q; want %q, on %q", w.Moves.Ended, w.Server.Host, c.status, c.host)
			}
		})
	}
}
