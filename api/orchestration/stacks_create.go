package orchestration

// POST /stacks.

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"

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

// stackName is the rule of the original for names of stacks.
var stackName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]{0,254}$`)

// bodyOf is a request's body, which must be an object.
func bodyOf(r *rest.Request) (*value.Map, error) {
	m, ok := value.Of(r.Body()).(*value.Map)
	if r.Body() == nil || !ok {
		return nil, errMalformed
	}
	return m, nil
}

func (a *API) createStack(r *rest.Request) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	s, err := a.asked(r, body)
	if err != nil {
		return nil, err
	}
	request, left, err := a.requested(r, body)
	if err != nil {
		return nil, err
	}
	definition, err := request.Define(hot.Identity{Project: s.ProjectID, Name: s.Name, ID: s.ID}, a.Types)
	if err != nil {
		return nil, err
	}
	if err := a.admit(r, definition); err != nil {
		return nil, err
	}
	s.Description, s.Size = descriptionOf(definition), len(definition.Resources())
	template, err := definition.Row(s.ID, a.Secrets)
	if err != nil {
		return nil, err
	}
	trust, err := a.trust(r, s, definition.Outside())
	if err != nil {
		return nil, err
	}
	kind := operations.StackCreate
	if left != nil {
		kind, s.Action, s.Reason = operations.StackAdopt, orchestration.ActionAdopt, "Stack ADOPT started"
	}
	var accepted engine.Accepted
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		if err := a.admitStack(r, tx); err != nil {
			return err
		}
		if err := orchestration.InsertStack(r.Context(), tx, s, template); err != nil {
			return err
		}
		if err := a.adopt(r.Context(), tx, s, definition, left); err != nil {
			return err
		}
		accepted, err = a.Engine.Accept(r.Context(), tx, engine.Request{Kind: kind, ResourceID: s.ID, ProjectID: s.ProjectID,
			UserID: s.UserID, RequestID: r.ID, Input: steps.TraversalInput{Template: s.TemplateID, Abandon: left != nil}})
		return err
	})
	if err != nil {
		return nil, a.giveBack(r, trust, err)
	}
	a.offer(accepted)
	links := linksOf(r, s)
	return rest.JSON(map[string]any{"stack": map[string]any{"id": s.ID, "links": links}}).WithHeader("Location", links[0].Href), nil
}

// requested is what a body asks a stack to be; left are the resources that it is to
// adopt, nil if all are to be made.
func (a *API) requested(r *rest.Request, body *value.Map) (request *stacks.Request, left *value.Map, err error) {
	if !body.Has(stacks.AdoptKey) {
		request, err = stacks.ParseRequest(body, a.fetcher(r))
		return request, nil, err
	}
	if request, left, err = stacks.ParseAdoption(body, a.fetcher(r)); err == nil && !a.Adopt {
		err = faults.New(faults.Invalid, "NotSupported", "Stack Adopt is not supported.")
	}
	return request, left, err
}

// adopt has rows for what a stack is to adopt, if there is anything.
func (a *API) adopt(ctx context.Context, tx store.Tx, s *orchestration.Stack, d *stacks.Definition, left *value.Map) error {
	if left == nil {
		return nil
	}
	adoption, err := d.Adopt(left)
	if err != nil {
		return err
	}
	return orchestration.InsertSealed(ctx, tx, s.ID, s.TemplateID, adoption.Rows, func() error { return adoption.Seal(a.Secrets) })
}

// asked is the stack that a body asks for, but for its template.
func (a *API) asked(r *rest.Request, body *value.Map) (*orchestration.Stack, error) {
	if body.Has("converge") {
		return nil, invalid("converge flag only supported in stack update (or update preview) request.")
	}
	name, ok := body.Get("stack_name")
	if !ok {
		return nil, invalid("No stack name specified")
	}
	s := &orchestration.Stack{ID: uuid.NewString(), Name: value.Str(name), ProjectID: r.Identity.ProjectID, UserID: r.Identity.UserID,
		Username: r.Identity.UserName, Action: orchestration.ActionCreate, Reason: "Stack CREATE started", DisableRollback: true}
	if !stackName.MatchString(s.Name) {
		return nil, &hot.Error{Class: hot.ValidationFailed, Message: fmt.Sprintf(
			"Invalid stack name %s must contain only alphanumeric or \"_-.\" characters, must start with alpha and must be 255 characters or less.",
			value.Clip(s.Name, maxShown))}
	}
	var err error
	if s.TimeoutMins, err = timeoutOf(body); err != nil {
		return nil, err
	}
	if err := setting(body, "disable_rollback", &s.DisableRollback); err != nil {
		return nil, err
	}
	s.Tags, err = tagsOf(body)
	return s, err
}

// maxTimeout is the longest timeout of a stack, in minutes: 30 days.
const maxTimeout = 30 * 24 * 60

func timeoutOf(body *value.Map) (*int, error) {
	v, _ := body.Get("timeout_mins")
	if v == nil {
		return nil, nil
	}
	n, err := whole("timeout_mins", value.Str(v))
	switch {
	case err != nil:
		return nil, err
	case n > maxTimeout:
		return nil, invalid("Value '%d' is invalid for 'timeout_mins': the most is %d.", n, maxTimeout)
	case n == 0:
		return nil, nil
	}
	return &n, nil
}

// maxTag is how long a tag may be.
const maxTag = 80

func tagsOf(body *value.Map) ([]string, error) {
	v, _ := body.Get("tags")
	switch t := v.(type) {
	case nil:
		return nil, nil
	case string:
		var tags []string
		for tag := range strings.SplitSeq(t, ",") {
			if len([]rune(tag)) > maxTag {
				return nil, invalid(`Invalid tag, "%s" is longer than 80 characters`, value.Clip(tag, maxShown))
			}
			tags = append(tags, tag)
		}
		return tags, nil
	}
	return nil, faults.New(faults.Invalid, "AttributeError", "tags must be a text, not %s", value.TypeName(v))
}

// admit refuses a definition that could not be carried out.
func (a *API) admit(r *rest.Request, d *stacks.Definition) error {
	if err := a.mayUseAll(r, d); err != nil {
		return err
	}
	if a.MaxResources >= 0 && len(d.Template.Names()) > a.MaxResources {
		return limit("Maximum resources per stack exceeded.")
	}
	return d.Validate()
}

// admitStack refuses one stack too many; administrators have no limit.
func (a *API) admitStack(r *rest.Request, tx store.Tx) error {
	if a.MaxStacks < 0 || r.Identity.IsAdmin {
		return nil
	}
	n, err := orchestration.CountStacks(r.Context(), tx, r.Identity.ProjectID)
	if err == nil && n >= a.MaxStacks {
		err = limit("You have reached the maximum stacks per tenant, %d. Please delete some stacks.", a.MaxStacks)
	}
	return err
}

func limit(format string, args ...any) error {
	return faults.New(faults.OverLimit, hot.LimitExceeded, "Request limit exceeded: "+format, args...)
}

// noDescription is what the original says of a template without one.
const noDescription = "No description"

func descriptionOf(d *stacks.Definition) string {
	if v := d.Template.Description(); v != nil {
		return value.Str(v)
	}
	return noDescription
}
