package node

// How an operation leads a node from one provision state to another.
//
// The request has shown the state that the work is done in (api/baremetal, the
// table of verbs). The story says in each step that changes it where the node is
// from then on (saga.Move.Node), and at its end where it has come to. Whatever
// else becomes of it, refused, failed, cancelled, lost, too late, the node is where
// its work fails to (internal/provision), with a reason: never in between.
//
// A new verb is
//
//   - a kind in internal/operations, with its steps and its deadline;
//   - a file here with its story, and a row in Workflows and in recoveries;
//   - a row in api/baremetal/verbs.go, which checks what the verb needs;
//   - a word in eventTypes of internal/store/baremetal for the node's history;
//   - scenes and recitals in the tests here.
//
// A story that waits for somebody else, the node's ramdisk or a user, moves the
// node to the waiting state and calls await: whoever has something to say writes it
// in the node's row and knocks.

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// story leads a node on, and says what is true of it at its end; nil of one that has
// failed is where its work fails to.
type story func(*saga.Saga) (*steps.NodeOutcome, error)

// transition carries an operation out that is shown by its node's provision state.
// Aborted is what the user reads if somebody has had it ended.
func transition(ctx workflow.Context, ref steps.Ref, tell story, aborted string) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	done, err := tell(s)
	outcome := saga.Outcome{Node: done, NodeOnFailure: failed(), Cancelled: aborted}
	if err != nil {
		outcome.NodeOnFailure = cmp.Or(done, outcome.NodeOnFailure)
	}
	return s.Close(outcome, err)
}

// failed: the node is where its work fails to.
func failed() *steps.NodeOutcome { return &steps.NodeOutcome{Failed: true} }

// failedAsSeen: the same, with the power that the node is found with; for work that changes
// it and has no undo.
func failedAsSeen(s *saga.Saga) *steps.NodeOutcome {
	now := failed()
	now.PowerState = glimpse(s)
	return now
}

// shown is a step that begins in a provision state.
func shown(s *saga.Saga, state provision.State) saga.Move {
	return saga.Move{Host: s.Begun.Node.Conductor, Node: &steps.NodeMove{State: string(state)}}
}

// at is where a node has come to.
func at(state provision.State) *steps.NodeOutcome { return &steps.NodeOutcome{State: string(state)} }

// longestLook is the longest time between two looks at a node that is waited for:
// a knock may be lost.
const (
	firstLook   = 10 * time.Second
	longestLook = 10 * time.Minute
)

// await looks at the node's row until heard is satisfied with it, for no longer
// than the state that the node is in may last. Errors: Unavailable, nobody was
// heard of in that time.
func await(s *saga.Saga, state provision.State, summary string, heard func(steps.NodeBrief) bool) error {
	ctx := s.Interruptible()
	info, _ := provision.Lookup(state)
	begun := workflow.Now(ctx)
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		now, err := steps.Records.Node(ctx, steps.NodeIn{Fence: s.Fence})
		if err != nil || heard(now) {
			return err
		}
		if info.Deadline > 0 {
			left := info.Deadline - workflow.Now(ctx).Sub(begun)
			if left <= 0 {
				return errTimeout
			}
			pause = min(pause, left)
		}
		if err := anew(s); err != nil {
			return err
		}
		if err := saga.Wait(ctx, pause, summary); err != nil {
			return err
		}
	}
}

// longHistory is how many events a run of a cleaning or of a service has before the next
// one goes on: each heartbeat of the ramdisk adds some.
const longHistory = 4000

// stepped are the kinds that have steps: those alone last long enough for that.
var stepped = []operations.Kind{operations.NodeProvide, operations.NodeClean, operations.NodeUndeploy, operations.NodeService, operations.NodeDeploy, operations.NodeRebuild}

// anew ends a run whose history has grown long, for another to go on from the node's row
// and the ledger, as one does that is started from nothing.
func anew(s *saga.Saga) error {
	info := workflow.GetInfo(s.Context())
	if !slices.Contains(stepped, kindOf(s)) || !info.GetContinueAsNewSuggested() && info.GetCurrentHistoryLength() < longHistory {
		return nil
	}
	return workflow.NewContinueAsNewError(s.Context(), string(s.Begun.Kind), steps.Ref{OperationID: s.Fence.OperationID})
}

// errTimeout is the verdict on a node that has not been heard of.
var errTimeout = faults.New(faults.Unavailable, "Timeout", "Timeout reached while waiting for callback for node")
