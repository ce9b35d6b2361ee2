package stacks

// States: what is kept of a resource beside its row's plain columns.

import (
	"fmt"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/orchestration"
)

// State is what is kept sealed of a resource.
type State struct {
	// Properties are those it was made or changed with last.
	Properties *value.Map
	// Data is what its type keeps.
	Data *value.Map
	// Attributes are what templates and users read of it.
	Attributes *value.Map
	// Reference is what get_resource gives of it; nil is the physical id.
	Reference any
	// Adopts is what is known of what is there already, and is to be the resource; nil
	// if there is nothing, or it is the resource.
	Adopts *value.Map
}

// OpenState reads the state of a row; one that has none is empty.
func OpenState(r *orchestration.Resource, box *secrets.Box) (*State, error) {
	s := &State{Properties: &value.Map{}, Data: &value.Map{}, Attributes: &value.Map{}}
	if len(r.State) == 0 {
		return s, nil
	}
	text, err := box.Open(r.State, stateOf(r))
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", r.Name, err)
	}
	m, err := mapping(string(text))
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", r.Name, err)
	}
	for key, into := range map[string]**value.Map{"properties": &s.Properties, "data": &s.Data, "attributes": &s.Attributes, "adopts": &s.Adopts} {
		if v, _ := m.Get(key); v != nil {
			part, ok := v.(*value.Map)
			if !ok {
				return nil, fmt.Errorf("resource %s: its %s are %s", r.Name, key, value.TypeName(v))
			}
			*into = part
		}
	}
	s.Reference, _ = m.Get("reference")
	return s, nil
}

// Seal writes a state to its row.
func (s *State) Seal(r *orchestration.Resource, box *secrets.Box) error {
	m := value.NewMap("properties", s.Properties, "data", s.Data, "attributes", s.Attributes, "reference", s.Reference)
	if s.Adopts != nil {
		m.Set("adopts", s.Adopts)
	}
	text, err := m.MarshalJSON()
	if err != nil {
		return fmt.Errorf("resource %s: %w", r.Name, err)
	}
	r.State = box.Seal(text, stateOf(r))
	return nil
}

// stateOf is the place that a resource's state is sealed for.
func stateOf(r *orchestration.Resource) string {
	return fmt.Sprintf("stack/%s/resource/%d", r.StackID, r.ID)
}
