// Package stack has the workflows of operations on stacks and their snapshots, one
// file each. Each is one traversal of the stack's graph, or two if it is taken back
// (traverse.go).
//
// A workflow knows numbers and edges; what they stand for, the template and every
// value are in the database, and so is what was done already: a run that is
// started from nothing, or continues as new, asks for the graph again and goes on
// with what is left.
//
// An operation on a stack has no ledger lines. What exists outside is in the rows
// of its resources, written before anything is done for one; a stack keeps what
// it has when a traversal fails or is cancelled, as the original has it, and a
// later one finds it there.
package stack

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Workflows are the kinds that this package carries out. Each is registered
// with a control worker under the name of its kind.
var Workflows = map[operations.Kind]func(workflow.Context, steps.Ref) error{
	operations.StackCreate:   Create,
	operations.StackAdopt:    Adopt,
	operations.StackUpdate:   Update,
	operations.StackDelete:   Delete,
	operations.StackRollback: Rollback,
	operations.StackCheck:    Check,
	operations.StackSuspend:  Suspend,
	operations.StackResume:   Resume,
	operations.StackSnapshot: Snapshot,
	operations.StackRestore:  Restore,
	operations.StackScale:    Scale,
	operations.StackRecover:  Recover,

	operations.SnapshotDelete:  DeleteSnapshot,
	operations.SnapshotRecover: DeleteSnapshot,
}
