package orchestration

// PUT and PATCH of /stacks/{stack_name}/{stack_id}.

import (
	"net/http"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// updateStack has a stack be what the body says, and nothing else.
func (a *API) updateStack(r *rest.Request) (*rest.Response, error) {
	return a.update(r, anew, false)
}

// anew is the parser of a body that says all of what a stack is to be.
func anew(body *value.Map, _ *stacks.Definition, fetch stacks.Fetcher) (*stacks.Request, error) {
	return stacks.ParseRequest(body, fetch)
}

// patchStack has a stack be what it is but for what the body says.
func (a *API) patchStack(r *rest.Request) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	rule := "stacks:update_patch"
	if body.Len() == 0 {
		rule = "stacks:update_no_change"
	}
	if err := r.Enforce(rule, nil); err != nil {
		return nil, err
	}
	return a.update(r, stacks.ParsePatch, true)
}

// parser reads from a body what a stack is to be, by what it is.
type parser func(*value.Map, *stacks.Definition, stacks.Fetcher) (*stacks.Request, error)

// updated is what a stack is, and what an update asks of it, if that can be carried out.
func (a *API) updated(r *rest.Request, body *value.Map, parse parser) (s *orchestration.Stack, now, next *stacks.Definition, err error) {
	if s, err = a.living(r); err != nil {
		return nil, nil, nil, err
	}
	if now, err = a.definition(r, s); err != nil {
		return nil, nil, nil, err
	}
	request, err := parse(body, now, a.fetcher(r))
	if err != nil {
		return nil, nil, nil, err
	}
	if err := mayUpdate(s); err != nil {
		return nil, nil, nil, err
	}
	if next, err = request.Define(hot.Identity{Project: s.ProjectID, Name: s.Name, ID: s.ID}, a.Types); err != nil {
		return nil, nil, nil, err
	}
	if err := a.admit(r, next); err != nil {
		return nil, nil, nil, err
	}
	return s, now, next, immutable(now, next)
}

func (a *API) update(r *rest.Request, parse parser, patch bool) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	s, _, next, err := a.updated(r, body, parse)
	if err != nil {
		return nil, err
	}
	template, err := next.Row(s.ID, a.Secrets)
	if err != nil {
		return nil, err
	}
	err = a.beginTrusted(r, s, next.Outside(), func(tx store.Tx, locked *orchestration.Stack) (accepted engine.Accepted, err error) {
		if err := mayUpdate(locked); err != nil {
			return accepted, err
		}
		before := locked.TemplateID
		locked.Description, locked.Size = descriptionOf(next), len(next.Resources())
		converge, err := settings(locked, body, patch)
		if err != nil {
			return accepted, err
		}
		if err := orchestration.PutUpdate(r.Context(), tx, locked, template); err != nil {
			return accepted, err
		}
		return a.start(r, tx, locked, operations.StackUpdate, steps.TraversalInput{Template: template.ID, Previous: before, Converge: converge}, orchestration.ActionUpdate)
	})
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusAccepted, Body: accepted202}, nil
}

// accepted202 is the original's body of an update that was accepted.
var accepted202 = map[string]string{"code": "202 Accepted", "title": "Accepted", "message": "The request is accepted for processing.<br /><br />\n\n\n"}

// mayUpdate refuses the update of a stack that sleeps or goes.
func mayUpdate(s *orchestration.Stack) error {
	doing := map[string]string{"SUSPEND": "suspended", orchestration.ActionDelete: "deleting"}[s.Action]
	switch {
	case s.DeletedAt != nil:
		return orchestration.NotFound(s.Name)
	case doing != "":
		return faults.New(faults.Invalid, "NotSupported", "Updating a stack when it is %s is not supported.", doing)
	}
	return nil
}

// immutable refuses what would change a parameter that may not be.
func immutable(now, next *stacks.Definition) error {
	names, err := now.Parameters.ImmutableChanged(next.Parameters)
	if err == nil && len(names) > 0 {
		err = faults.New(faults.Invalid, "ImmutableParameterModified",
			"The following parameters are immutable and may not be updated: %s", strings.Join(names, ", "))
	}
	return err
}

// settings are what a body says beside the template: of the stack, and whether it is to
// converge. Tags that it doesn't name go, unless it only says what is to change.
func settings(s *orchestration.Stack, body *value.Map, patch bool) (converge bool, err error) {
	minutes, err := timeoutOf(body)
	if err != nil {
		return false, err
	}
	if minutes != nil {
		s.TimeoutMins = minutes
	}
	if err := setting(body, "disable_rollback", &s.DisableRollback); err != nil {
		return false, err
	}
	if err := setting(body, "converge", &converge); err != nil {
		return false, err
	}
	if v, _ := body.Get("tags"); v == nil && patch {
		return converge, nil
	}
	s.Tags, err = tagsOf(body)
	return converge, err
}
