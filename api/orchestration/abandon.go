package orchestration

// GET .../export and DELETE .../abandon: a stack as another cloud may take it on.

import (
	"context"
	"encoding/json"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// exported is a stack with all that it takes to adopt it.
type exported struct {
	Name        string          `json:"name"`
	ID          string          `json:"id"`
	Action      string          `json:"action"`
	Status      string          `json:"status"`
	Environment *value.Map      `json:"environment"`
	Files       json.RawMessage `json:"files"`
	Template    json.RawMessage `json:"template"`
	Resources   map[string]any  `json:"resources"`
	ProjectID   string          `json:"project_id"`
	UserProject *string         `json:"stack_user_project_id"`
	Tags        []string        `json:"tags"`
}

// exportedResource is one of its resources; one that is a stack is an exported.
type exportedResource struct {
	Name       string          `json:"name"`
	PhysicalID *string         `json:"resource_id"`
	Type       string          `json:"type"`
	Action     string          `json:"action"`
	Status     string          `json:"status"`
	Metadata   json.RawMessage `json:"metadata"`
	Data       *value.Map      `json:"resource_data"`
}

// abandonable is the stack of a request, if the operator has allowed that stacks are
// abandoned.
func (a *API) abandonable(r *rest.Request) (*orchestration.Stack, error) {
	s, err := a.living(r)
	if err == nil && !a.Abandon {
		err = faults.New(faults.Invalid, "NotSupported", "Stack Abandon is not supported.")
	}
	return s, err
}

func (a *API) exportStack(r *rest.Request) (*rest.Response, error) {
	s, err := a.abandonable(r)
	if err != nil {
		return nil, err
	}
	view, err := a.exported(r.Context(), a.DB.Pool, s)
	if err != nil {
		return nil, err
	}
	return rest.JSON(view), nil
}

// exported gathers a stack and those nested in it.
func (a *API) exported(ctx context.Context, q store.Queryer, s *orchestration.Stack) (*exported, error) {
	row, err := orchestration.GetTemplate(ctx, q, s.TemplateID)
	if err != nil {
		return nil, err
	}
	d, err := stacks.Load(s, row, a.Secrets, a.Types)
	if err != nil {
		return nil, err
	}
	rows, err := orchestration.Resources(ctx, q, s.ID)
	if err != nil {
		return nil, err
	}
	below, err := orchestration.Tree(ctx, q, s.ID, 1)
	if err != nil {
		return nil, err
	}
	nested := map[string]*orchestration.Stack{}
	for _, one := range below {
		nested[one.ID] = one
	}
	view := &exported{Name: s.Name, ID: s.ID, Action: s.Action, Status: s.Status, Environment: d.Environment.User(), Files: json.RawMessage(row.Files),
		Template: json.RawMessage(row.Template), Resources: map[string]any{}, ProjectID: s.ProjectID, UserProject: s.UserProjectID}
	if len(s.Tags) > 0 {
		view.Tags = s.Tags
	}
	for _, one := range rows {
		if one.ReplacedBy != 0 {
			continue
		}
		if part := nested[one.PhysicalID]; part != nil && part.ParentID == s.ID {
			if view.Resources[one.Name], err = a.exported(ctx, q, part); err != nil {
				return nil, err
			}
			continue
		}
		state, err := stacks.OpenState(one, a.Secrets)
		if err != nil {
			return nil, err
		}
		if state.Adopts != nil {
			view.Resources[one.Name] = state.Adopts
			continue
		}
		view.Resources[one.Name] = exportedResource{Name: one.Name, PhysicalID: orNull(one.PhysicalID), Type: one.Type, Action: one.Action, Status: one.Status,
			Metadata: json.RawMessage(one.Metadata), Data: state.Data}
	}
	return view, nil
}

// abandonStack deletes a stack and leaves what it has made.
func (a *API) abandonStack(r *rest.Request) (*rest.Response, error) {
	s, err := a.abandonable(r)
	if err != nil {
		return nil, err
	}
	var view *exported
	err = a.begin(r, s, func(tx store.Tx, locked *orchestration.Stack) (accepted engine.Accepted, err error) {
		if view, err = a.exported(r.Context(), tx, locked); err != nil {
			return accepted, err
		}
		accepted, err = a.start(r, tx, locked, operations.StackDelete, steps.TraversalInput{Abandon: true}, orchestration.ActionDelete)
		if err == nil && accepted.Meeting == operations.Join {
			err = inProgress(locked) // what runs takes things away
		}
		return accepted, err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(view), nil
}
