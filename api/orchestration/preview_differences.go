package orchestration

// What an update would change, in a stack and in those nested in it.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// differences are what an update would change, by kind of change.
type differences struct {
	*API
	r       *rest.Request
	changes map[string][]*previewed
	// nested says that stacks nested in the stack are looked into, left how much more of
	// them.
	nested bool
	left   *stacks.Budget
}

// note has a resource be in the list of a change.
func (d *differences) note(change string, of *preview, name string) error {
	v, err := of.resource(name)
	d.changes[change] = append(d.changes[change], v)
	return err
}

// between compares what a stack is with what it is to be.
func (d *differences) between(s *orchestration.Stack, now, next *stacks.Definition) error {
	world, err := d.world(d.r, s)
	if err != nil {
		return err
	}
	before, err := newPreview(s, now, world, s.ParentResource)
	if err != nil {
		return err
	}
	after, err := newPreview(s, next, world, s.ParentResource)
	if err != nil {
		return err
	}
	for _, def := range next.Resources() {
		change, err := changeOf(next, def, world)
		if err == nil {
			err = d.note(change, after, def.Name)
		}
		if err == nil && d.nested {
			err = d.within(change, after, def)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range world.Names() {
		if next.Resource(name) != nil {
			continue
		}
		if err := d.note("deleted", before, name); err != nil {
			return err
		}
		if err := d.gone(world.Row(name)); err != nil {
			return err
		}
	}
	return nil
}

// within compares the stack that a resource is with the one that it is to be. One that
// is to be replaced goes with all that it has, and comes with all that it is to have.
func (d *differences) within(change string, p *preview, def *hot.Resource) error {
	t, err := p.definition.TypeOf(def)
	if err != nil || !p.definition.Nests(def) {
		return err
	}
	row := p.world.Row(def.Name)
	there, err := d.stackOf(row)
	if err != nil {
		return err
	}
	if change == "updated" && there != nil {
		now, err := d.definition(d.r, there)
		if err != nil {
			return err
		}
		inner, err := d.world(d.r, there)
		if err != nil {
			return err
		}
		next, err := p.definition.InsideOf(def, t, p.world, hot.Identity{Project: there.ProjectID, Name: there.Name, ID: there.ID}, inner.Names(), d.left)
		if err != nil || next == nil {
			return err
		}
		return d.between(there, now, next)
	}
	if change == "replaced" {
		if err := d.gone(row); err != nil {
			return err
		}
	}
	return d.come(p, def)
}

// come has all that a stack is to have be added.
func (d *differences) come(p *preview, def *hot.Resource) error {
	t, err := p.definition.TypeOf(def)
	if err != nil {
		return err
	}
	inside, err := p.definition.Inside(def, t, d.left)
	if err != nil || inside == nil {
		return err
	}
	nested, err := newPreview(&orchestration.Stack{Name: p.of.Name + "-" + def.Name, ID: none, ProjectID: p.of.ProjectID}, inside, stacks.NewWorld(nil, d.Secrets), def.Name)
	if err != nil {
		return err
	}
	for _, one := range inside.Resources() {
		if err := d.note("added", nested, one.Name); err != nil {
			return err
		}
		if err := d.come(nested, one); err != nil {
			return err
		}
	}
	return nil
}

// gone has all that a resource has as a stack be deleted, if that is looked into.
func (d *differences) gone(row *orchestration.Resource) error {
	if !d.nested {
		return nil
	}
	there, err := d.stackOf(row)
	if err != nil || there == nil {
		return err
	}
	now, err := d.definition(d.r, there)
	if err != nil {
		return err
	}
	world, err := d.world(d.r, there)
	if err != nil {
		return err
	}
	p, err := newPreview(there, now, world, there.ParentResource)
	if err != nil {
		return err
	}
	for _, name := range world.Names() {
		if err := d.note("deleted", p, name); err != nil {
			return err
		}
		if err := d.gone(world.Row(name)); err != nil {
			return err
		}
	}
	return nil
}

// stackOf is the stack that a resource is; nil if it is none.
func (d *differences) stackOf(row *orchestration.Resource) (*orchestration.Stack, error) {
	if row == nil {
		return nil, nil
	}
	s, err := orchestration.GetStack(d.r.Context(), d.DB.Pool, "", row.PhysicalID)
	if faults.Is(err, faults.NotFound) || err == nil && (s.ParentID != row.StackID || s.DeletedAt != nil) {
		return nil, nil
	}
	return s, err
}
