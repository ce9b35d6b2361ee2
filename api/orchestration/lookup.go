package orchestration

// How a request names its stack.

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/orchestration"
)

// stack is the one that the path names by name and id, deleted or not.
func (a *API) stack(r *rest.Request) (*orchestration.Stack, error) {
	return a.stackAt(r, r.Param("stack_name"), r.Param("stack_id"))
}

func (a *API) stackAt(r *rest.Request, name, id string) (*orchestration.Stack, error) {
	s, err := orchestration.GetStack(r.Context(), a.DB.Pool, r.Identity.ProjectID, id)
	if err != nil || s.Name != name {
		return nil, notFoundAs(name, err)
	}
	return s, nil
}

// living is stack, of those that aren't deleted.
func (a *API) living(r *rest.Request) (*orchestration.Stack, error) {
	return a.livingAt(r, r.Param("stack_name"), r.Param("stack_id"))
}

func (a *API) livingAt(r *rest.Request, name, id string) (*orchestration.Stack, error) {
	s, err := a.stackAt(r, name, id)
	if err == nil && s.DeletedAt != nil {
		err = orchestration.NotFound(s.Name)
	}
	return s, err
}

// lookup sends the caller on to the stack's own address. A stack's name may be
// followed by what would be an id there: the names of its parts.
func (a *API) lookup(r *rest.Request) (*rest.Response, error) {
	return a.redirect(r, r.Param("stack_name"), "")
}

// parts are the parts of a stack that may follow its name alone.
var parts = []string{"resources", "events", "template", "actions", "environment", "files"}

// redirected answers a path in which the part of a stack stands where its id is
// looked for; false for any other.
func (a *API) redirected(r *rest.Request) (*rest.Response, bool, error) {
	part := r.Param("stack_id")
	if !slices.Contains(parts, part) {
		return nil, false, nil
	}
	if err := r.Enforce("stacks:lookup", nil); err != nil {
		return nil, true, err
	}
	answer, err := a.redirect(r, r.Param("stack_name"), part)
	return answer, true, err
}

func (a *API) redirect(r *rest.Request, name, part string) (*rest.Response, error) {
	project := r.Identity.ProjectID
	if arn, ok := strings.CutPrefix(name, "arn:openstack:heat::"); ok {
		if _, path, found := strings.Cut(arn, ":stacks/"); found {
			_, name, _ = strings.Cut(path, "/")
		}
	}
	s, err := orchestration.FindStack(r.Context(), a.DB.Pool, project, name)
	if err != nil {
		return nil, err
	}
	target := linksOf(r, s)[0].Href
	if part != "" {
		target += "/" + part
	}
	if query := r.Query.Encode(); query != "" {
		target += "?" + query
	}
	return (&rest.Response{Status: http.StatusFound, Body: found(target)}).WithHeader("Location", target), nil
}

// found is the body of a redirect.
func found(target string) any {
	return map[string]string{"code": "302 Found", "title": "Found",
		"message": fmt.Sprintf("The resource was found at <a href=\"%[1]s\">%[1]s</a>;\nyou should be redirected automatically.\n\n", target)}
}

// link is a link as answers have it.
type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// linksOf are a stack's own links.
func linksOf(r *rest.Request, s *orchestration.Stack, further ...string) []link {
	parts := append([]string{s.ProjectID, "stacks", url.PathEscape(s.Name), s.ID}, further...)
	return []link{{r.Link(parts...), "self"}}
}
