package baremetal

// Records of nodes: history, inventory, BIOS settings and firmware.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/baremetal"
)

// listHistory answers GET /nodes/{node}/history.
func (a *API) listHistory(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:history:get")
	if err != nil {
		return nil, err
	}
	l, err := nodeEventResource.listing(r, nil, a.MaxPageSize, false)
	if err != nil {
		return nil, err
	}
	l.path = "nodes/" + r.Param("node") + "/" + l.path
	if l.Marker != "" {
		if _, err := baremetal.NodeEvents.Find(r.Context(), a.DB.Pool, l.Marker, false); err != nil {
			return nil, err
		}
	}
	l.Filters = []baremetal.Filter{{SQL: "t.node_uuid = $", Value: n.UUID}}
	events, err := baremetal.NodeEvents.List(r.Context(), a.DB.Pool, l.List)
	if err != nil {
		return nil, err
	}
	return page(r, &nodeEventResource, l, events, id, func(e *baremetal.NodeEvent) map[string]any { return eventView(r, n, e, l.wanted) }), nil
}

// shortEvent is how long an event is in lists that are not detailed.
const shortEvent = 255

// eventView is what clients are shown of an event: cut, unless all is wanted.
func eventView(r *rest.Request, n *baremetal.Node, e *baremetal.NodeEvent, wanted []string) map[string]any {
	shown := view(r, &nodeEventResource, e, e.UUID, wanted)
	if wanted != nil && utf8.RuneCountInString(e.Event) > shortEvent {
		shown["event"] = string([]rune(e.Event)[:shortEvent-4]) + "..."
	}
	shown["links"] = links(r, "nodes", n.UUID, "history", e.UUID)[:1]
	return shown
}

// showHistory answers GET /nodes/{node}/history/{event}.
func (a *API) showHistory(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:history:get")
	if err != nil {
		return nil, err
	}
	if !baremetal.IsUUID(r.Param("event")) {
		return nil, baremetal.NodeEvents.Missing(r.Param("event"))
	}
	events, err := baremetal.NodeEvents.List(r.Context(), a.DB.Pool, baremetal.List{Limit: 1,
		Filters: []baremetal.Filter{{SQL: "t.node_uuid = $", Value: n.UUID}, {SQL: "t.uuid = $", Value: r.Param("event")}}})
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, baremetal.NodeEvents.Missing(r.Param("event"))
	}
	return rest.JSON(eventView(r, n, events[0], nil)), nil
}

// showInventory answers GET /nodes/{node}/inventory.
func (a *API) showInventory(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:inventory:get")
	if err != nil {
		return nil, err
	}
	found, err := baremetal.FindInventory(r.Context(), a.DB.Pool, n)
	if err != nil {
		return nil, err
	}
	return rest.JSON(found), nil
}

// queryable is the version in which lists of BIOS settings take fields.
const queryable = 74

// listBIOS answers GET /nodes/{node}/bios.
func (a *API) listBIOS(r *rest.Request) (*rest.Response, error) {
	if err := biosSettingResource.expected(r, []filter{{name: "detail", since: queryable}, {name: "fields", since: queryable}}); err != nil {
		return nil, err
	}
	wanted, err := biosSettingResource.shown(r, false)
	if err != nil {
		return nil, err
	}
	n, err := a.node(r, a.DB.Pool, "baremetal:node:bios:get")
	if err != nil {
		return nil, err
	}
	settings, err := baremetal.BIOSSettings(r.Context(), a.DB.Pool, n.UUID)
	if err != nil {
		return nil, err
	}
	all := make([]map[string]any, len(settings))
	for i, s := range settings {
		all[i] = biosView(r, r.Param("node"), s, wanted)
	}
	return rest.JSON(map[string]any{"bios": all}), nil
}

// biosView is what clients are shown of a setting. When it was made and written
// is always told.
func biosView(r *rest.Request, node string, s *baremetal.BIOSSetting, wanted []string) map[string]any {
	if wanted != nil {
		wanted = slices.Concat(wanted, []string{"created_at", "updated_at"})
	}
	shown := view(r, &biosSettingResource, s, s.Name, wanted)
	if _, ok := shown["allowable_values"]; ok && s.AllowableValues == nil {
		shown["allowable_values"] = nil
	}
	shown["links"] = links(r, "nodes", node, "bios", s.Name)
	return shown
}

// showBIOS answers GET /nodes/{node}/bios/{setting}.
func (a *API) showBIOS(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:bios:get")
	if err != nil {
		return nil, err
	}
	settings, err := baremetal.BIOSSettings(r.Context(), a.DB.Pool, n.UUID)
	if err != nil {
		return nil, err
	}
	name := r.Param("setting")
	i := slices.IndexFunc(settings, func(s *baremetal.BIOSSetting) bool { return s.Name == name })
	if i < 0 {
		return nil, faults.New(faults.NotFound, "BIOSSettingNotFound", "Node %s doesn't have a BIOS setting '%s'", n.UUID, name)
	}
	return rest.JSON(map[string]any{name: biosView(r, n.UUID, settings[i], nil)}), nil
}

// makerSince is the version that knows who made a component.
const makerSince = 114

// listFirmware answers GET /nodes/{node}/firmware.
func (a *API) listFirmware(r *rest.Request) (*rest.Response, error) {
	if err := firmwareResource.expected(r, []filter{{name: "detail", since: 86}, {name: "fields", since: 86}}); err != nil {
		return nil, err
	}
	var tooNew []string
	for name := range strings.SplitSeq(r.Query.Get("fields"), ",") {
		if f, known := firmwareResource.find(strings.TrimSpace(name)); known && f.newer(r) {
			tooNew = append(tooNew, f.name)
		}
	}
	if slices.Sort(tooNew); len(tooNew) > 0 {
		return nil, invalid("Fields %s are not allowed in this API version. They require at least API version 1.%d.", strings.Join(tooNew, ", "), makerSince)
	}
	wanted, err := firmwareResource.shown(r, false)
	if err != nil {
		return nil, err
	}
	n, err := a.node(r, a.DB.Pool, "baremetal:node:firmware:get")
	if err != nil {
		return nil, err
	}
	components, err := baremetal.FirmwareComponents(r.Context(), a.DB.Pool, n.UUID)
	if err != nil {
		return nil, err
	}
	all := make([]map[string]any, len(components))
	for i, c := range components {
		all[i] = view(r, &firmwareResource, c, c.Component, slices.Concat(wanted, []string{"created_at", "updated_at"}))
		delete(all[i], "links")
	}
	return rest.JSON(map[string]any{"firmware": all}), nil
}
