package resources

// Updates that converge: what others have changed of a resource, or taken away, is made as
// the template has it.

import (
	"context"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// observed is what has become of a resource.
type observed struct {
	gone    bool
	strayed []string
}

// changes are those of a definition, and what has become of the resource besides; nil is
// a resource that can't be kept.
func (o *observed) changes(names []string) []string {
	if o == nil || names == nil {
		return names
	}
	if o.gone {
		return nil
	}
	for _, name := range o.strayed {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// observation is a look at a resource that is yet to be taken.
type observation struct {
	of   Observer
	call *Call
}

// toObserve is the look at a resource that an update which converges begins with; nil if
// there is none, or it is taken.
func (s *shift) toObserve(ctx context.Context, tx store.Tx, id int64, seen *observed) (*observation, error) {
	if s.seen = seen; seen != nil {
		return nil, nil
	}
	r := s.current(id)
	if !s.input.Converge || s.phase != steps.Make || id < 0 || r == nil || r.Status != orchestration.Complete || r.DoneIn == s.traversal || r.PhysicalID == "" {
		return nil, nil
	}
	of, can := s.o.Types[r.Carrier()].(Observer)
	if !can {
		return nil, nil
	}
	state, err := s.world.Of(r)
	if err != nil {
		return nil, err
	}
	c, err := s.callOf(ctx, tx, id, r, state)
	if err != nil || isExternal(c) {
		return nil, err
	}
	return &observation{of, c}, nil
}

// take looks. What can't be looked at is taken to be what it was. Errors: Unavailable.
func (o *observation) take(ctx context.Context) (*observed, error) {
	strayed, err := o.of.Observe(ctx, o.call)
	switch {
	case ctx.Err() != nil, faults.Is(err, faults.Unavailable):
		return nil, err
	case faults.Is(err, faults.NotFound):
		return &observed{gone: true}, nil
	case err != nil:
		return &observed{}, nil
	}
	return &observed{strayed: strayed}, nil
}

// Observe implements Observer, of plain values that the service says under the names of
// properties.
func (t REST) Observe(ctx context.Context, c *Call) (strayed []string, err error) {
	w, err := t.begin(ctx, c)
	if err == nil {
		err = w.look(ctx)
	}
	if err != nil {
		return nil, err
	}
	object, _ := w.scope.Object.(*value.Map)
	for _, name := range t.Type.Properties.Names {
		p, _ := t.Type.Properties.Get(name)
		given, _ := c.Properties.Get(name)
		said, known := object.Get(name)
		named := p.Custom() != "" || t.Type.REST.Lookups[name] != ""
		if given == nil || !known || !p.UpdateAllowed || named || len(p.Schema.Names) > 0 {
			continue
		}
		if now, err := p.Check(said); err == nil && !value.Equal(now, given) {
			strayed = append(strayed, name)
		}
	}
	return strayed, nil
}
