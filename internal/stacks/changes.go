package stacks

// Changes: what another definition has otherwise than a resource that is there.

import (
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/store/orchestration"
)

// lost are the actions after whose failure a stack is replaced: it isn't what it was.
var lost = []string{orchestration.ActionCheck, orchestration.ActionDelete}

// Changed names the properties that the definition has otherwise than a resource as
// it was made; nil is a resource that can't be kept: it has failed, or is of another
// type, or of one that is made anew each time. A stack that has failed can, unless it
// was to be checked or to go, and so can what only failed to be copied. Nothing is
// changed of what isn't the stack's. Errors: Invalid.
func (d *Definition) Changed(r *orchestration.Resource, def *hot.Resource, now *World) ([]string, error) {
	if r.Type != def.Type || r.CarriedBy != d.CarriedBy(def) {
		return nil, nil
	}
	if r.Status == orchestration.Failed && r.Action != orchestration.ActionSnapshot &&
		(!d.Nests(def) || r.PhysicalID == "" || slices.Contains(lost, r.Action)) {
		return nil, nil
	}
	t, err := d.TypeOf(def)
	if err != nil || t.Renewed {
		return nil, err
	}
	state, err := now.Of(r)
	if err != nil {
		return nil, err
	}
	names := []string{}
	if external, err := d.external(r, state, def, now); external || err != nil {
		return names, err
	}
	asked, err := d.Resolve(def, t, now)
	if err != nil {
		return nil, err
	}
	for i := range asked.Len() {
		key, v := asked.At(i)
		if was, _ := state.Properties.Get(key); value.Equal(was, v) {
			continue
		}
		name := value.Str(key)
		if p, ok := t.Properties.Get(name); ok && p.Immutable {
			return nil, faults.New(faults.Invalid, "NotSupported", "Update to properties %s of %s (%s) is not supported.", name, r.Name, r.Type)
		}
		names = append(names, name)
	}
	return names, nil
}

// InPlace says whether a resource of a type can be given other values of some
// properties without another taking its place.
func InPlace(t *resourcetype.Type, names []string) bool {
	for _, name := range names {
		if p, ok := t.Properties.Get(name); ok && !p.UpdateAllowed {
			return false
		}
	}
	return true
}
