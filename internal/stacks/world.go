package stacks

// The world of a stack: its resources, as the functions of templates read them.

import (
	"maps"
	"slices"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/orchestration"
)

// World has resources by their names; it is the hot.Attributes of a template.
type World struct {
	box    *secrets.Box
	rows   map[string]*orchestration.Resource
	states map[int64]*State
}

var _ hot.Attributes = (*World)(nil)

// NewWorld makes the world of some rows. Of several resources of a name the one
// counts that no other takes the place of.
func NewWorld(rows []*orchestration.Resource, box *secrets.Box) *World {
	w := &World{box: box, rows: map[string]*orchestration.Resource{}, states: map[int64]*State{}}
	for _, r := range rows {
		if w.rows[r.Name] == nil || r.ReplacedBy == 0 {
			w.rows[r.Name] = r
		}
	}
	return w
}

// Row is the row of a resource; nil if there is none.
func (w *World) Row(resource string) *orchestration.Resource { return w.rows[resource] }

// Names are those of the resources, sorted.
func (w *World) Names() []string { return slices.Sorted(maps.Keys(w.rows)) }

// Put has a row count as the resource of its name.
func (w *World) Put(r *orchestration.Resource) { w.rows[r.Name] = r }

// Of is the state of a row. What is changed of it is read from then on.
func (w *World) Of(r *orchestration.Resource) (*State, error) {
	if s := w.states[r.ID]; s != nil {
		return s, nil
	}
	s, err := OpenState(r, w.box)
	if err == nil {
		w.states[r.ID] = s
	}
	return s, err
}

// State implements hot.Attributes.
func (w *World) State(resource string) (action, status string) {
	if r := w.rows[resource]; r != nil {
		return r.Action, r.Status
	}
	return hot.Nothing.State(resource)
}

// Reference implements hot.Attributes.
func (w *World) Reference(resource string) (any, error) {
	r := w.rows[resource]
	if r == nil || r.PhysicalID == "" {
		return resource, nil
	}
	s, err := w.Of(w.rows[resource])
	if err != nil {
		return nil, err
	}
	if s.Reference != nil {
		return s.Reference, nil
	}
	return r.PhysicalID, nil
}

// Attribute implements hot.Attributes.
func (w *World) Attribute(resource, attribute string, path []any) (any, error) {
	all, err := w.All(resource)
	if err != nil || all == nil {
		return nil, err
	}
	if members, is := membersOf(w.states[w.rows[resource].ID]); is && !all.Has(attribute) {
		if w.rows[resource].Carrier() == scaledType {
			return members.placed(resource, attribute, path)
		}
		return members.attribute(resource, attribute, path)
	}
	v, _ := all.Get(attribute)
	return hot.Select(v, path), nil
}

// All implements hot.Attributes.
func (w *World) All(resource string) (*value.Map, error) {
	if w.rows[resource] == nil {
		return nil, nil
	}
	s, err := w.Of(w.rows[resource])
	if err != nil {
		return nil, err
	}
	return s.Attributes, nil
}
