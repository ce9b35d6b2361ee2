package server_test

// Rows 1, 2, 11, 12 and 26 of the list of failures that the original has had:
// each as it would happen here, and what comes of it.

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// An action that fails before it has run left its task_state for ever, and only
// a delete or an edit of the database helped. Here the failure ends the
// operation, says why, and the task is over.
func TestAnchor01AnActionThatFailsLeavesNoTask(t *testing.T) {
	t.Parallel()
	for _, k := range powerKinds {
		for name, change := range map[string]func(*workflowtest.World){
			"its host is down": func(w *workflowtest.World) { w.Down("host-1") },
			"its host can't":   func(w *workflowtest.World) { w.Hosts["host-1"].Broken = true },
			"it has no host": func(w *workflowtest.World) {
				w.Server.Host = ""
				clear(w.Hosts["host-1"].Claims)
				clear(w.Hosts["host-1"].Guests)
			},
			"its time is over":  func(w *workflowtest.World) { w.Op.Deadline = workflowtest.Epoch.Add(-1) },
			"it was called off": func(w *workflowtest.World) { w.Op.CancelRequested = true },
		} {
			t.Run(fmt.Sprintf("%s of %s: %s", k.kind, k.before.VMState, name), func(t *testing.T) {
				t.Parallel()
				w := workflowtest.Told(t, server.Power, k.as(change))
				if w.Server.TaskState != "" || w.Server.Owner != "" || w.Op.Result == operations.ResultDone || w.Op.Fault == nil {
					t.Errorf("%s, %+v, with the server %+v", w.Op.Result, w.Op.Fault, w.Server)
				}
			})
		}
	}
}

// The host's worker died while it changed a guest's power, and the state stayed
// powering-*. Here the step waits for the worker that comes back, and is done.
func TestAnchor02AHostThatDiesWhileItChangesPowerDoesItWhenItReturns(t *testing.T) {
	t.Parallel()
	for _, k := range powerKinds {
		t.Run(fmt.Sprintf("%s of %s", k.kind, k.before.VMState), func(t *testing.T) {
			t.Parallel()
			w := workflowtest.Told(t, server.Power, k.as(func(w *workflowtest.World) { w.Hosts["host-1"].SilentFor = 3 }))
			if w.Op.Result != operations.ResultDone || w.Server.TaskState != "" || w.Row() != k.done+", on a host" {
				t.Errorf("%s with the server %q, task %q", w.Op.Result, w.Row(), w.Server.TaskState)
			}
		})
	}
}

// A delete that was lost in a hang of libvirt stayed deleting for ever. Here it
// is asked of the host again until the domain is gone; a host that is down owes
// it and pays before any other work.
func TestAnchor11ADeleteThatHangsIsRepeatedUntilTheGuestIsGone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*workflowtest.Host){
		"the host hangs for a while": func(h *workflowtest.Host) { h.SilentFor = 7 },
		"the host is down":           func(h *workflowtest.Host) { h.Up, h.Answers = false, false },
	} {
		w := workflowtest.Told(t, server.Delete, func() *workflowtest.World {
			w := deleting().Place("host-1")
			change(w.Hosts["host-1"])
			return w
		})
		// Told has let every host pay what it owes.
		if w.Op.Result != operations.ResultDone || !w.Server.Deleted || w.Server.TaskState != "" || len(w.Hosts["host-1"].Guests)+len(w.Hosts["host-1"].Claims) > 0 {
			t.Errorf("%s: %s, and the world is\n%s", name, w.Op.Result, w)
		}
	}
}

// With Cinder down a server could not be deleted. Here all else goes, and the
// release of the volumes is a debt that can be seen and is paid when Cinder is back.
func TestAnchor12ADeleteWhileCinderIsDownIsDone(t *testing.T) {
	t.Parallel()
	var owed []operations.EffectKind
	w := workflowtest.Told(t, server.Delete, withVolumes(func() *workflowtest.World { return deleting() }, func(c *workflowtest.Cinder) {
		c.Made, c.Attached, c.InUse, c.Down = true, "host-1", true, true
	}))
	for _, e := range w.Ledger {
		if e.Kind == operations.EffectVolumes {
			owed = append(owed, e.Kind)
		}
	}
	if w.Op.Result != operations.ResultDone || !w.Server.Deleted || len(owed) != 1 || w.Cinder.Made {
		t.Errorf("%s, %d effects on volumes, and the world is\n%s", w.Op.Result, len(owed), w)
	}
}

// A delete while the server was booting had two owners delete rows under each
// other. Here the build is cancelled, undoes itself and lets go; the delete that
// comes then finds what was left, which is nothing.
func TestAnchor26ADeleteWhileBootingWaitsForTheBuildToUndoItself(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Build, func() *workflowtest.World { return cancelled(building()) })
	if w.Op.Result != operations.ResultCancelled || w.Row() != isError || w.Server.Owner != "" {
		t.Errorf("the build: %s with the server %q, held by %q", w.Op.Result, w.Row(), w.Server.Owner)
	}
	left := w.Server
	w = workflowtest.Told(t, server.Delete, func() *workflowtest.World {
		return workflowtest.NewWorld(operations.ServerDelete, left, "host-1", "host-2")
	})
	if w.Op.Result != operations.ResultDone || !w.Server.Deleted || len(w.Ledger) != 0 {
		t.Errorf("the delete: %s, and the world is\n%s", w.Op.Result, w)
	}
}
