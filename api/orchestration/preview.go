package orchestration

// Previews: what a request would make or change. Nothing is.

import (
	"encoding/json"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// stackIdentity is a stack as previews name it.
type stackIdentity struct {
	Name   string `json:"stack_name"`
	ID     string `json:"stack_id"`
	Tenant string `json:"tenant"`
	Path   string `json:"path"`
}

// previewed is a resource in a preview, in the form that the original's engine has it.
type previewed struct {
	Name       string          `json:"resource_name"`
	PhysicalID string          `json:"physical_resource_id"`
	Type       string          `json:"resource_type"`
	Action     string          `json:"resource_action"`
	Status     string          `json:"resource_status"`
	Reason     string          `json:"resource_status_reason"`
	Created    *string         `json:"creation_time"`
	Updated    *string         `json:"updated_time"`
	Identity   stackIdentity   `json:"resource_identity"`
	Stack      stackIdentity   `json:"stack_identity"`
	StackName  string          `json:"stack_name"`
	RequiredBy []string        `json:"required_by"`
	Desc       string          `json:"description"`
	Metadata   json.RawMessage `json:"metadata"`
	Attributes *value.Map      `json:"attributes"`
	Parent     string          `json:"parent_resource,omitempty"`
	Properties *value.Map      `json:"properties,omitempty"`
}

// preview is a look at a definition, with what there is of it.
type preview struct {
	of         *orchestration.Stack
	definition *stacks.Definition
	world      *stacks.World
	// parent is the resource that the stack is; empty if it is none.
	parent string
	// requiredBy are the resources that need one.
	requiredBy map[string][]string
}

func newPreview(of *orchestration.Stack, d *stacks.Definition, world *stacks.World, parent string) (*preview, error) {
	p := &preview{of, d, world, parent, map[string][]string{}}
	for _, def := range d.Resources() {
		requires, err := def.Requires()
		if err != nil {
			return nil, err
		}
		for _, need := range requires {
			p.requiredBy[need] = append(p.requiredBy[need], def.Name)
		}
	}
	return p, nil
}

// resource is one resource of a preview: as it is, or as it is to be if there is none
// yet.
func (p *preview) resource(name string) (*previewed, error) {
	id := stackIdentity{p.of.Name, p.of.ID, p.of.ProjectID, ""}
	v := &previewed{Name: name, Action: orchestration.ActionInit, Status: orchestration.Complete, Stack: id, StackName: p.of.Name, Identity: id,
		RequiredBy: orEmpty(p.requiredBy[name]), Metadata: json.RawMessage("{}"), Attributes: &value.Map{}, Parent: p.parent}
	v.Identity.Path = "/resources/" + name
	if def := p.definition.Resource(name); def != nil {
		v.Type, v.Desc = def.Type, def.Description
		metadata, err := def.Metadata(p.world)
		if err != nil {
			return nil, err
		}
		v.Metadata = json.RawMessage(value.JSON(metadata, false))
	}
	row := p.world.Row(name)
	if row == nil {
		return v, nil
	}
	state, err := p.world.Of(row)
	if err != nil {
		return nil, err
	}
	created := stamp(row.CreatedAt)
	v.Created, v.Updated = &created, &created
	if row.UpdatedAt != nil {
		v.Updated = stampOf(row.UpdatedAt)
	}
	v.Type, v.PhysicalID, v.Action, v.Status, v.Reason = row.Type, row.PhysicalID, row.Action, row.Status, row.Reason
	v.Attributes, v.Metadata = state.Attributes, json.RawMessage(row.Metadata)
	return v, nil
}

// all are the resources of a definition, in its order; what is nested in one stands in
// its place, as a list. Errors: Invalid, there is more than is looked into.
func (p *preview) all(left *stacks.Budget) ([]any, error) {
	list := []any{}
	for _, def := range p.definition.Resources() {
		t, err := p.definition.TypeOf(def)
		if err != nil {
			return nil, err
		}
		inside, err := p.definition.Inside(def, t, left)
		if err != nil {
			return nil, err
		}
		if inside != nil {
			nested, err := newPreview(&orchestration.Stack{Name: p.of.Name + "-" + def.Name, ID: none, ProjectID: p.of.ProjectID}, inside, p.world, def.Name)
			if err != nil {
				return nil, err
			}
			inner, err := nested.all(left)
			if err != nil {
				return nil, err
			}
			list = append(list, inner)
			continue
		}
		v, err := p.resource(def.Name)
		if err != nil {
			return nil, err
		}
		if given, err := def.Properties(hot.Nothing); err == nil {
			if v.Properties, err = t.Check(given, "", func(string) bool { return true }, stacks.Constraints); err != nil {
				v.Properties = given
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// maxPreviewed is how long the templates of all that is nested in a stack may be
// together in its preview, which is longer still.
const maxPreviewed = 8 << 20

// none is the id of a stack that isn't there.
const none = "None"

// previewStack shows the stack that a body asks for.
func (a *API) previewStack(r *rest.Request) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	s, err := a.asked(r, body)
	if err != nil {
		return nil, err
	}
	s.ID = none
	request, _, err := a.requested(r, body)
	if err != nil {
		return nil, err
	}
	d, err := request.Define(hot.Identity{Project: s.ProjectID, Name: s.Name, ID: none}, a.Types)
	if err != nil {
		return nil, err
	}
	if err := a.admit(r, d); err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		if err := a.admitStack(r, tx); err != nil {
			return err
		}
		exists, err := orchestration.NameTaken(r.Context(), tx, s.ProjectID, s.Name)
		if err == nil && exists {
			err = orchestration.Exists(s.Name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Description = descriptionOf(d)
	view, err := a.shown(r, s, d)
	if err != nil {
		return nil, err
	}
	world := stacks.NewWorld(nil, a.Secrets)
	view.Outputs = outputsOf(d, world)
	p, err := newPreview(s, d, world, "")
	if err != nil {
		return nil, err
	}
	resources, err := p.all(stacks.NewBudget(maxPreviewed))
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"stack": struct {
		shown
		Created   *string `json:"creation_time"`
		Status    *string `json:"stack_status,omitempty"`
		Reason    *string `json:"stack_status_reason,omitempty"`
		Resources []any   `json:"resources"`
	}{shown: view, Resources: resources}}), nil
}

// previewUpdate shows what an update would change.
func (a *API) previewUpdate(parse parser) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		nested, err := flag(r, "show_nested", false)
		if err != nil {
			return nil, err
		}
		body, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		s, now, next, err := a.updated(r, body, parse)
		if err != nil {
			return nil, err
		}
		asked := *s
		if _, err := settings(&asked, body, false); err != nil {
			return nil, err
		}
		d := differences{API: a, r: r, nested: nested, left: stacks.NewBudget(maxPreviewed),
			changes: map[string][]*previewed{"unchanged": {}, "updated": {}, "replaced": {}, "added": {}, "deleted": {}}}
		if err := d.between(s, now, next); err != nil {
			return nil, err
		}
		return rest.JSON(map[string]any{"resource_changes": d.changes}), nil
	}
}

// changeOf is what an update would do with a resource of its template.
func changeOf(next *stacks.Definition, def *hot.Resource, world *stacks.World) (string, error) {
	row := world.Row(def.Name)
	if row == nil {
		return "added", nil
	}
	names, err := next.Changed(row, def, world)
	if err != nil {
		return "", err
	}
	t, err := next.TypeOf(def)
	switch {
	case err != nil:
		return "", err
	case names == nil, !stacks.InPlace(t, names):
		return "replaced", nil
	case len(names) > 0, next.Nests(def):
		return "updated", nil
	}
	return "unchanged", nil
}
