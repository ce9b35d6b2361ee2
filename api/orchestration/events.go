package orchestration

// Events, as users see them.

import (
	"net/url"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/orchestration"
)

// eventView is an event in a list; alone it has a type and properties too.
type eventView struct {
	ID         string  `json:"id"`
	Time       string  `json:"event_time"`
	Name       string  `json:"resource_name"`
	LogicalID  string  `json:"logical_resource_id"`
	PhysicalID *string `json:"physical_resource_id"`
	Status     string  `json:"resource_status"`
	Reason     string  `json:"resource_status_reason"`
	Links      []link  `json:"links"`
}

func viewOf(r *rest.Request, s *orchestration.Stack, e *orchestration.Event) eventView {
	links := resourceLinks(r, s, e.ResourceName, "events", url.PathEscape(e.ID))
	of := resourceLinks(r, s, e.ResourceName)
	return eventView{ID: e.ID, Time: stamp(e.CreatedAt), Name: e.ResourceName, LogicalID: e.ResourceName, PhysicalID: orNull(e.PhysicalID),
		Status: e.Action + "_" + e.Status, Reason: e.Reason, Links: []link{links[0], {of[0].Href, "resource"}, {of[1].Href, "stack"}}}
}

func (a *API) listEvents(r *rest.Request) (*rest.Response, error) { return a.events(r, "") }

func (a *API) listResourceEvents(r *rest.Request) (*rest.Response, error) {
	return a.events(r, r.Param("resource_name"))
}

func (a *API) events(r *rest.Request, resource string) (*rest.Response, error) {
	limit, err := number(r, "limit")
	if err != nil {
		return nil, err
	}
	depth, err := nestedDepth(r)
	if err != nil {
		return nil, err
	}
	s, err := a.stack(r)
	if err != nil {
		return nil, err
	}
	tree, err := a.tree(r, s, depth)
	if err != nil {
		return nil, err
	}
	f := orchestration.EventFilter{StackIDs: tree.shown, Resource: resource, Names: r.Query["resource_name"], Types: r.Query["resource_type"],
		Actions: r.Query["resource_action"], Statuses: r.Query["resource_status"], Marker: r.Query.Get("marker"),
		Descending: newestFirst(r), Limit: limit}
	found, err := orchestration.ListEvents(r.Context(), a.DB.Pool, f)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && resource != "" {
		return nil, httpNotFound("No events found for resource %s", resource)
	}
	views := []eventView{}
	for _, e := range found {
		v := viewOf(r, tree.stacks[e.StackID], e)
		if depth > 0 {
			v.Links = append(v.Links, link{linksOf(r, s)[0].Href, "root_stack"})
		}
		views = append(views, v)
	}
	return rest.JSON(map[string]any{"events": views}), nil
}

// newestFirst is how events are listed, unless the caller names an order or a key.
func newestFirst(r *rest.Request) bool {
	direction := r.Query.Get("sort_dir")
	return direction == "desc" || direction == "" && len(r.Query["sort_keys"]) == 0
}

func (a *API) showEvent(r *rest.Request) (*rest.Response, error) {
	s, err := a.stack(r)
	if err != nil {
		return nil, err
	}
	id := r.Param("event_id")
	found, err := orchestration.ListEvents(r.Context(), a.DB.Pool, orchestration.EventFilter{StackIDs: []string{s.ID}, Resource: r.Param("resource_name"), ID: id})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, httpNotFound("No event %s found", id)
	}
	view := struct {
		eventView
		Type       string         `json:"resource_type"`
		Properties map[string]any `json:"resource_properties"`
	}{viewOf(r, s, found[0]), found[0].ResourceType, nil}
	return rest.JSON(map[string]any{"event": view}), nil
}

// httpNotFound is a 404 of the API's own.
func httpNotFound(format string, args ...any) error {
	return faults.New(faults.NotFound, statusWords[404].class, format, args...)
}
