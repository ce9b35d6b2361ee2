package node

// Recover ends an operation whose workflow died by other hands than the engine's:
// terminated or reset by an operator, or failed by a fault of ours.
//
//	dead before its point of no return ──► what was true before
//	dead past it                       ──► finished
//
// Point of no return: it is forward from its first step.
//
//	dead kind  what is true after
//	power      before the step power as it was; from there on the node is brought to
//	           the state that was asked for, and what has been sent isn't sent again
//	command    before the step command as it was; from there on it is carried out
//	manage     the node is in enroll
//	provide,   the node is in clean failed
//	clean
//	inspect    before the step settle the node is in inspect failed, and off if its ramdisk
//	           was booted; from there on it is manageable
//	deploy,    before the step start the node is in deploy failed, and off; from there
//	rebuild    on it is started from its disk, and active
//	rescue,    before the point of no return the node is in rescue failed or unrescue
//	unrescue   failed; from there on the work is finished
//	service    before the step start the instance runs again, and the node is in service
//	           failed; from there on it is active
//	adopt      before the step start the node is in adopt failed, later active
//	undeploy   the instance is gone, and the node is cleaned and available
//
// The user reads what happened as the node's last error unless the work was finished.

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// recovery is what becomes of a lost operation of one kind.
type recovery struct {
	// finish does the rest of the work of one past its point of no return, and says
	// what is true afterwards.
	finish func(*saga.Saga) (*steps.NodeOutcome, error)
	// undone is what is true once one before that point has been undone.
	undone func() *steps.NodeOutcome
}

var recoveries = map[operations.Kind]recovery{
	operations.NodePower:   {finish: power, undone: unchanged},
	operations.NodeCommand: {finish: command, undone: unchanged},
	operations.NodeManage:  {undone: failed}, operations.NodeProvide: {undone: failed}, operations.NodeClean: {undone: failed},
	operations.NodeDeploy: {finish: startInstance, undone: failed}, operations.NodeRebuild: {finish: startInstance, undone: failed},
	operations.NodeUndeploy: {finish: undeploy, undone: failed},
	operations.NodeInspect:  {finish: settle, undone: failed},
	operations.NodeAdopt:    {finish: adoptLost, undone: failed},
	operations.NodeRescue:   {finish: enter, undone: failed},
	operations.NodeUnrescue: {finish: unrescue, undone: failed},
	operations.NodeService:  {finish: resume, undone: failed},
}

// Recover is the workflow of operations.NodeRecover.
func Recover(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	outcome, err := recoverLost(s)
	return s.Close(outcome, err)
}

func recoverLost(s *saga.Saga) (saga.Outcome, error) {
	lost := s.Begun.Recovers
	if lost == nil {
		return saga.Outcome{NodeOnFailure: unchanged()}, faults.New(faults.Internal, "NothingToRecover", "the operation names no other to recover")
	}
	row, ok := recoveries[lost.Kind]
	if !ok {
		row.undone = unchanged
	}
	spec, _ := operations.Lookup(lost.Kind)
	if row.finish != nil && spec.Beyond(lost.Step) {
		done, err := row.finish(s)
		return saga.Outcome{Node: done, NodeOnFailure: cmp.Or(done, row.undone())}, err
	}
	err := s.UndoAll(fmt.Sprintf("%s was lost at step %q", lost.OperationID, lost.Step))
	now := row.undone()
	return saga.Outcome{Node: now, NodeOnFailure: now, Fault: saga.Account(lost)}, err
}
