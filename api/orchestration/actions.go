package orchestration

// POST .../actions.

import (
	"encoding/json"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// action is something that a stack can be told to do. It gives what it was
// accepted as, which is nothing where there is nothing to do.
type action func(*API, *rest.Request, store.Tx, *orchestration.Stack) (engine.Accepted, error)

var actions = map[string]action{
	"check":                   traversal(operations.StackCheck, orchestration.ActionCheck, ""),
	"suspend":                 traversal(operations.StackSuspend, orchestration.ActionSuspend, "SUSPEND_COMPLETE"),
	"resume":                  traversal(operations.StackResume, orchestration.ActionResume, "RESUME_COMPLETE"),
	"cancel_update":           cancelUpdate,
	"cancel_without_rollback": cancelWithoutRollback,
}

// null is the body of an answer that has nothing to say.
var null = json.RawMessage("null")

// act does the one action that the body names; its value means nothing.
func (a *API) act(r *rest.Request) (*rest.Response, error) {
	body, _ := value.Of(r.Body()).(*value.Map)
	switch {
	case body == nil || body.Len() == 0:
		return nil, invalid("No action specified")
	case body.Len() > 1:
		return nil, invalid("Multiple actions specified")
	}
	key, _ := body.At(0)
	name := value.Str(key)
	do, ok := actions[name]
	if !ok {
		return nil, invalid("Invalid action %s specified", value.Clip(name, maxShown))
	}
	if err := r.Enforce("actions:"+name, nil); err != nil {
		return nil, err
	}
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	err = a.begin(r, s, func(tx store.Tx, locked *orchestration.Stack) (engine.Accepted, error) { return do(a, r, tx, locked) })
	if err != nil {
		return nil, err
	}
	return rest.JSON(null), nil
}

// begin has do say what an operation on a stack, which it holds, was accepted as, and
// offers that. What may not begin beside what runs is refused in the original's words.
func (a *API) begin(r *rest.Request, s *orchestration.Stack, do func(store.Tx, *orchestration.Stack) (engine.Accepted, error)) error {
	var accepted engine.Accepted
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		locked, err := orchestration.LockStack(r.Context(), tx, s.ProjectID, s.ID)
		if err != nil {
			return notFoundAs(s.Name, err)
		}
		accepted, err = do(tx, locked)
		if faults.Is(err, faults.Conflict) {
			err = inProgress(locked)
		}
		return err
	})
	if err == nil {
		a.offer(accepted)
	}
	return err
}

// start accepts an operation on a stack, which shows from then on that it does action;
// one that joins another shows what it does already.
func (a *API) start(r *rest.Request, tx store.Tx, s *orchestration.Stack, kind operations.Kind, in steps.TraversalInput, action string) (engine.Accepted, error) {
	accepted, err := a.Engine.Accept(r.Context(), tx, engine.Request{Kind: kind, ResourceID: s.ID, ProjectID: s.ProjectID,
		UserID: r.Identity.UserID, RequestID: r.ID, Input: in})
	if err != nil || accepted.Meeting == operations.Join {
		return accepted, err
	}
	return accepted, orchestration.StartAction(r.Context(), tx, s.ID, action)
}

// inProgress is the original's refusal to begin something while another thing runs.
func inProgress(s *orchestration.Stack) error {
	return faults.New(faults.Conflict, "ActionInProgress", "Stack %s already has an action (%s) in progress.", s.Name, s.Action)
}

// traversal is an action that goes through a stack's resources, unless the stack
// is in the state that it leads to.
func traversal(kind operations.Kind, name, already string) action {
	return func(a *API, r *rest.Request, tx store.Tx, s *orchestration.Stack) (accepted engine.Accepted, err error) {
		if s.State() == already {
			return accepted, nil
		}
		return a.start(r, tx, s, kind, steps.TraversalInput{Template: s.TemplateID}, name)
	}
}

// inputOf is what the operation that a stack shows was asked for.
func (a *API) inputOf(r *rest.Request, tx store.Tx, s *orchestration.Stack) (in steps.TraversalInput, err error) {
	running, err := a.Engine.Get(r.Context(), tx, s.Shown())
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(running.Input, &in); err != nil {
		return in, faults.Wrap(err, faults.Internal, "InternalError", "the operation's input can't be read")
	}
	return in, nil
}

// cancelUpdate has a stack be what it was before the update that runs.
func cancelUpdate(a *API, r *rest.Request, tx store.Tx, s *orchestration.Stack) (accepted engine.Accepted, err error) {
	if err := mayCancel(s, orchestration.ActionUpdate); err != nil {
		return accepted, err
	}
	in, err := a.inputOf(r, tx, s)
	if err != nil {
		return accepted, err
	}
	if in.Previous == 0 {
		return accepted, inProgress(s) // it was lost, and is being recovered
	}
	if err := orchestration.PutTemplateBack(r.Context(), tx, s.ID, in.Previous); err != nil {
		return accepted, err
	}
	return a.start(r, tx, s, operations.StackRollback, steps.TraversalInput{Previous: in.Previous}, orchestration.ActionRollback)
}

// cancelWithoutRollback ends a create or an update where it is.
func cancelWithoutRollback(a *API, r *rest.Request, tx store.Tx, s *orchestration.Stack) (accepted engine.Accepted, err error) {
	if err := mayCancel(s, orchestration.ActionUpdate, orchestration.ActionCreate); err != nil {
		return accepted, err
	}
	_, err = a.Engine.RequestCancel(r.Context(), tx, s.Shown(), r.Identity.UserID)
	return accepted, err
}

// mayCancel refuses to cancel what isn't done with the stack.
func mayCancel(s *orchestration.Stack, actions ...string) error {
	if s.Status == orchestration.InProgress && slices.Contains(actions, s.Action) {
		return nil
	}
	return faults.New(faults.Invalid, "NotSupported", "Cancelling update when stack is %s is not supported.", s.State())
}
