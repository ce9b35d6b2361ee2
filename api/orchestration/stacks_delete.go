package orchestration

// DELETE /stacks/{stack_name}/{stack_id}.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// deleteStack is accepted whatever the stack does; what runs is cut short.
func (a *API) deleteStack(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		accepted, err = a.Engine.Accept(r.Context(), tx, engine.Request{Kind: operations.StackDelete, ResourceID: s.ID, ProjectID: s.ProjectID,
			UserID: r.Identity.UserID, RequestID: r.ID})
		if err != nil || accepted.Meeting == operations.Join {
			return err
		}
		// It may have been deleted since it was looked for.
		now, err := orchestration.GetStack(r.Context(), tx, s.ProjectID, s.ID)
		if err == nil && now.DeletedAt != nil {
			err = orchestration.NotFound(s.Name)
		}
		if err != nil {
			return err
		}
		return orchestration.StartAction(r.Context(), tx, s.ID, orchestration.ActionDelete)
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return nil, nil
}
