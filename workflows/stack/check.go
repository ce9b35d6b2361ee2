package stack

// Check asks each resource of a stack whether it is still as it was made.
//
//	CHECK_IN_PROGRESS ──resources──► CHECK_COMPLETE
//	                      └ some aren't ► CHECK_FAILED, which names them all
//
// Point of no return: none. A cancel ends it wherever it is; what was asked shows
// the answer, and the others what they showed before.
//
//	step       before it               after it                cancelled in it
//	resources  nobody knows what has   every resource shows    CHECK_FAILED, some
//	           become of the           CHECK_COMPLETE or       resources asked
//	           resources               CHECK_FAILED
//
// A resource that failed is replaced by the next update.

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Check is the workflow of operations.StackCheck.
func Check(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	outcome, err := check(ctx, s)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(outcome, err)
}

// unasked is said of a stack that has resources that can't be asked.
const unasked = ". 'CHECK' not fully supported (see resources)"

// maxTold is how many failures the stack's reason names.
const maxTold = 100

func check(ctx workflow.Context, s *saga.Saga) (saga.Outcome, error) {
	outcome := ended(actionCheck)
	if err := s.Step(operations.StepResources, saga.Move{}); err != nil {
		return outcome, err
	}
	t, err := enter(ctx, s, steps.Check, timeout(s))
	if err != nil {
		return outcome, err
	}
	if err := t.follow(titles[actionCheck] + " timed out"); err != nil {
		return outcome, err
	}
	note := ""
	if t.unasked {
		note = unasked
	}
	outcome.Stack.Reason += note
	if len(t.broken) == 0 {
		return outcome, nil
	}
	if more := len(t.broken) - maxTold; more > 0 {
		t.broken = append(t.broken[:maxTold], fmt.Sprintf("and %d more", more))
	}
	return outcome, faults.New(faults.Internal, failureCode, "Resource CHECK failed: %s%s", strings.Join(t.broken, "; "), note)
}
