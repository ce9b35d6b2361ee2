package orchestration

// DELETE /stacks/{stack_name}/{stack_id}.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// deleteStack is accepted whatever the stack does; what runs is cut short.
func (a *API) deleteStack(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	return nil, a.beginTrusted(r, s, false, func(tx store.Tx, locked *orchestration.Stack) (engine.Accepted, error) {
		return a.start(r, tx, locked, operations.StackDelete, steps.TraversalInput{}, orchestration.ActionDelete)
	})
}
