package node

// Provide makes a node available, Clean does to one what a user asks for. Both are
// a list of steps in the node's row: those that are done without being asked for, if
// they are; or a user's, in their order. The request has written them there, unless
// the node's ramdisk has some: then it is booted first, and asked for them.
//
//	manageable ──provide──► cleaning ──► available
//	manageable ──clean────► cleaning ──► manageable
//	                         │  ▲  ▲
//	                    wait ▼  │  │ unhold
//	                 clean wait ┘  └ clean hold ◄── hold
//	any of them ──► clean failed: failed, aborted, cancelled, lost; last_error says why
//
// Point of no return: none. What a step has done to a machine is not taken back;
// the node is clean failed, and in maintenance if it was a step that failed.
//
//	step    before it                    after it
//	clean   the node is in cleaning;     each step is done, once, in its order; which
//	        cancelled, it is in clean    one is in the row before it begins; the ramdisk
//	        failed                       is gone, if there was one
//	finish  the same                     available or manageable
//
//	effect   undo
//	ramdisk  as in Deploy
//
// A step that may not be stopped half-way is brought to its end first. A run from
// nothing goes on with the step that the row says, which finds what it did before.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Provide is the workflow of operations.NodeProvide.
func Provide(ctx workflow.Context, ref steps.Ref) error {
	return cleaning(ctx, ref, provision.Available)
}

// Clean is the workflow of operations.NodeClean.
func Clean(ctx workflow.Context, ref steps.Ref) error {
	return cleaning(ctx, ref, provision.Manageable)
}

// byCleaning is what a node's steps are done for.
var byCleaning = &work{
	phase: steps.AgentClean, step: operations.StepClean, works: provision.Cleaning, waits: provision.CleanWait, holds: provision.CleanHold,
	fault: provision.CleanFailure, doing: "cleaning", of: "cleaning", silent: ramdiskSilent, broken: stepBroken,
	givenUp: faults.New(faults.Conflict, "NodeCleaningFailure", "The cleaning had failed, and the ramdisk was being taken away, when the operation was interrupted"),
}

// cleaning does a node's steps, and leaves it in a state.
func cleaning(ctx workflow.Context, ref steps.Ref, ends provision.State) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	outcome, err := cleaned(s, ends)
	return s.Close(outcome, err)
}

// cleaned does a node's steps, and says what is true of it at the end, whatever that is.
func cleaned(s *saga.Saga, ends provision.State) (saga.Outcome, error) {
	r := newRunner(s, byCleaning)
	err := r.all(s.Begun.Kind == operations.NodeClean)
	if err == nil {
		err = r.takeAway()
	}
	return r.outcome(at(ends), failed()), err
}

// takeAway ends the node's ramdisk, if there is one.
func (r *runner) takeAway() error {
	if !holds(r.Saga, operations.EffectRamdisk) {
		return nil
	}
	err := takeDown(r.Context(), r.Saga, "undo")
	if err == nil {
		return r.Step(r.work.step, withoutRamdisk(r.Saga, r.works))
	}
	return r.leftFault(err)
}
