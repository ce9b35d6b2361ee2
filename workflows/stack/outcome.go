package stack

// What finished operations make true of a stack's row.

import (
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Actions and statuses that workflows set (contracts: lifecycle.json).
const (
	actionCreate   = "CREATE"
	actionAdopt    = "ADOPT"
	actionUpdate   = "UPDATE"
	actionDelete   = "DELETE"
	actionRollback = "ROLLBACK"
	actionCheck    = "CHECK"
	actionSuspend  = "SUSPEND"
	actionResume   = "RESUME"
	actionSnapshot = "SNAPSHOT"
	actionRestore  = "RESTORE"

	complete = "COMPLETE"
	failed   = "FAILED"
)

// completed: the action has come to its end.
func completed(action string) *steps.StackOutcome {
	return &steps.StackOutcome{Action: action, Status: complete, Reason: "Stack " + action + " completed successfully"}
}

// broken: it has not, and the fault says why.
func broken(action string) *steps.StackOutcome {
	return &steps.StackOutcome{Action: action, Status: failed}
}

// cancelled: somebody has ended it.
func cancelled(action string) *steps.StackOutcome {
	return &steps.StackOutcome{Action: action, Status: failed, Reason: "Stack " + action + " cancelled"}
}

// ended is what an action of one traversal makes true, however it ends.
func ended(action string) saga.Outcome {
	return saga.Outcome{Stack: completed(action), StackOnFailure: broken(action), StackOnCancel: cancelled(action)}
}

// deleted: nothing is left of it but its row.
func deleted() *steps.StackOutcome {
	o := completed(actionDelete)
	o.Deleted = true
	return o
}
