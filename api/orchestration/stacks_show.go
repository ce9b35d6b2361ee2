package orchestration

// GET of one stack, and of what it was asked to be.

import (
	"encoding/json"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// listItem is a stack in a list. Its project is shown to administrators.
type listItem struct {
	ID          string   `json:"id"`
	Links       []link   `json:"links"`
	Name        string   `json:"stack_name"`
	Description string   `json:"description"`
	Status      string   `json:"stack_status"`
	Reason      string   `json:"stack_status_reason"`
	Created     string   `json:"creation_time"`
	Updated     *string  `json:"updated_time"`
	Deleted     *string  `json:"deletion_time"`
	Owner       *string  `json:"stack_owner"`
	Parent      *string  `json:"parent"`
	UserProject *string  `json:"stack_user_project_id"`
	Tags        []string `json:"tags"`
	Project     string   `json:"project,omitempty"`
}

// item is the list's view of a stack.
func item(r *rest.Request, s *orchestration.Stack) listItem {
	i := listItem{ID: s.ID, Links: linksOf(r, s), Name: s.Name, Status: s.State(), Reason: s.Reason, Created: stamp(s.CreatedAt),
		Updated: stampOf(s.UpdatedAt), Deleted: stampOf(s.DeletedAt), Owner: orNull(s.Username), Parent: orNull(s.ParentID), UserProject: s.UserProjectID}
	if len(s.Tags) > 0 {
		i.Tags = s.Tags
	}
	return i
}

// shown is a stack alone.
type shown struct {
	listItem
	TemplateDescription string            `json:"template_description"`
	Parameters          map[string]string `json:"parameters"`
	Outputs             []output          `json:"outputs,omitempty"`
	DisableRollback     bool              `json:"disable_rollback"`
	TimeoutMins         *int              `json:"timeout_mins"`
	Capabilities        []string          `json:"capabilities"`
	Topics              []string          `json:"notification_topics"`
}

// output is a resolved output.
type output struct {
	Key         string `json:"output_key"`
	Description string `json:"description"`
	Value       any    `json:"output_value"`
	Error       string `json:"output_error,omitempty"`
}

func (a *API) showStack(r *rest.Request) (*rest.Response, error) {
	if answer, is, err := a.redirected(r); is {
		return answer, err
	}
	resolve, err := flag(r, "resolve_outputs", true)
	if err != nil {
		return nil, err
	}
	s, err := a.stack(r)
	if err != nil {
		return nil, err
	}
	d, err := a.definition(r, s)
	if err != nil {
		return nil, err
	}
	view, err := a.shown(r, s, d)
	if err != nil {
		return nil, err
	}
	if resolve && s.DeletedAt == nil {
		if view.Outputs, err = a.outputs(r, s, d); err != nil {
			return nil, err
		}
	}
	return rest.JSON(map[string]any{"stack": view}), nil
}

// shown is a stack alone, but for its outputs.
func (a *API) shown(r *rest.Request, s *orchestration.Stack, d *stacks.Definition) (view shown, err error) {
	view = shown{listItem: item(r, s), TemplateDescription: s.Description, Parameters: map[string]string{},
		DisableRollback: s.DisableRollback, TimeoutMins: s.TimeoutMins, Capabilities: []string{}, Topics: []string{}}
	view.Description, view.Tags = s.Description, orEmpty(s.Tags)
	for _, p := range d.Parameters.All() {
		if view.Parameters[p.Name], err = p.Text(); err != nil {
			return view, err
		}
	}
	return view, nil
}

// definition is what a stack was asked to be last.
func (a *API) definition(r *rest.Request, s *orchestration.Stack) (*stacks.Definition, error) {
	row, err := orchestration.GetTemplate(r.Context(), a.DB.Pool, s.TemplateID)
	if err != nil {
		return nil, err
	}
	return stacks.Load(s, row, a.Secrets, a.Types)
}

// world is the stack's resources, as functions read them.
func (a *API) world(r *rest.Request, s *orchestration.Stack) (*stacks.World, error) {
	rows, err := orchestration.Resources(r.Context(), a.DB.Pool, s.ID)
	if err != nil {
		return nil, err
	}
	return stacks.NewWorld(rows, a.Secrets), nil
}

func (a *API) outputs(r *rest.Request, s *orchestration.Stack, d *stacks.Definition) ([]output, error) {
	world, err := a.world(r, s)
	if err != nil {
		return nil, err
	}
	return outputsOf(d, world), nil
}

func outputsOf(d *stacks.Definition, world *stacks.World) (all []output) {
	valueOf := d.Values(world)
	for _, o := range d.Outputs() {
		all = append(all, outputOf(o, valueOf))
	}
	return all
}

func outputOf(o *hot.Output, valueOf func(*hot.Output) (any, error)) output {
	view := output{Key: o.Name, Description: o.Description()}
	v, err := valueOf(o)
	if err != nil {
		view.Error = hot.Said(err)
		return view
	}
	view.Value = v
	return view
}

func (a *API) listOutputs(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	d, err := a.definition(r, s)
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, o := range d.Outputs() {
		all = append(all, map[string]string{"output_key": o.Name, "description": o.Description()})
	}
	return rest.JSON(map[string]any{"outputs": all}), nil
}

func (a *API) showOutput(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	d, err := a.definition(r, s)
	if err != nil {
		return nil, err
	}
	o := d.Output(r.Param("output_key"))
	if o == nil {
		return nil, faults.New(faults.NotFound, "NotFound", "Specified output key %s not found.", r.Param("output_key"))
	}
	world, err := a.world(r, s)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"output": outputOf(o, d.Values(world))}), nil
}

// shownAs answers with a part of what a stack was asked for with.
func (a *API) shownAs(part func(*orchestration.Template) json.RawMessage) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		s, err := a.stack(r)
		if err != nil {
			return nil, err
		}
		row, err := orchestration.GetTemplate(r.Context(), a.DB.Pool, s.TemplateID)
		if err != nil {
			return nil, err
		}
		return rest.JSON(part(row)), nil
	}
}

func templateOf(t *orchestration.Template) json.RawMessage { return json.RawMessage(t.Template) }

func filesOf(t *orchestration.Template) json.RawMessage { return json.RawMessage(t.Files) }

func (a *API) showEnvironment(r *rest.Request) (*rest.Response, error) {
	s, err := a.stack(r)
	if err != nil {
		return nil, err
	}
	d, err := a.definition(r, s)
	if err != nil {
		return nil, err
	}
	schemas, err := d.Template.AllSchemas(d.Files)
	if err != nil {
		return nil, err
	}
	return rest.JSON(d.Environment.Masked(schemas)), nil
}

// stamp is a time as the API has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func stampOf(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := stamp(*t)
	return &text
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// notFoundAs is the answer to a stack that isn't there, under the name that was asked for.
func notFoundAs(name string, err error) error {
	if err == nil || faults.Is(err, faults.NotFound) {
		return orchestration.NotFound(name)
	}
	return err
}
