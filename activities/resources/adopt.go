package resources

// Adopting: resources that are there already, left by a stack that was abandoned.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// adopted is a row of what is there already, about to be adopted; nil if what the
// template says of it is wrong, or nobody knows what is there. A nested stack is made
// anew, of resources that are there.
func (s *shift) adopted(id int64, r *orchestration.Resource, state *stacks.State, def *hot.Resource) (*orchestration.Resource, error) {
	s.show(r, orchestration.ActionAdopt)
	if err := s.resolve(r, state, def); err != nil {
		s.leave(id, r, err)
		return nil, nil
	}
	if s.definition.Nests(def) {
		return r, nil
	}
	there, data, metadata, err := stacks.Left(state.Adopts)
	if err != nil {
		return nil, err
	}
	if there == "" {
		s.leave(id, r, faults.New(faults.Invalid, "Exception", "Resource ID was not provided."))
		return nil, nil
	}
	r.PhysicalID, state.Data, state.Adopts = there, data, nil
	if metadata != "" {
		r.Metadata = metadata
	}
	return r, nil
}

// leave fails a resource that isn't adopted, and never will be: whatever is there is not
// the stack's, and stays when that goes.
func (s *shift) leave(id int64, r *orchestration.Resource, failure error) {
	s.fail(id, r, failure)
	r.DeletionPolicy = "Retain"
}

// adopt has the type do its part.
func adopt(ctx context.Context, t Type, c *Call) (time.Duration, error) {
	if a, has := t.(Adopter); has {
		return a.Adopt(ctx, c)
	}
	return 0, nil
}

// Adopt is idempotent as Create is. A group gives no member a name that is removed.
func (n nested) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	c.PhysicalID = n.idOf(c)
	if n.rolls != nil {
		if _, err := n.rolls(c, become{}); err != nil {
			return 0, err
		}
	}
	return n.part(ctx, c, operations.StackAdopt, c.traversal, whole)
}

// resourcesLeft are the resources of a nested stack that is adopted, as another has left
// them.
func (c *Call) resourcesLeft() *value.Map {
	given, _ := c.Left.Get("resources")
	left, _ := given.(*value.Map)
	return left
}

// adoptAll has the stack's resources be what is left of those of another.
func (n nested) adoptAll(ctx context.Context, c *Call, s *orchestration.Stack, d *stacks.Definition) error {
	a, err := d.Adopt(c.resourcesLeft())
	if err != nil {
		return err
	}
	return orchestration.InsertSealed(ctx, c.tx, s.ID, s.TemplateID, a.Rows, func() error { return a.Seal(n.o.Box) })
}

// Adopt is idempotent since it only looks. What isn't there, or can't be looked at, has
// no attributes, and is adopted as the original has it.
func (t REST) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if err := w.look(ctx); faults.Is(err, faults.Unavailable) || ctx.Err() != nil {
		return 0, err
	}
	return 0, nil
}

// Look implements Looker.
func (t REST) Look(ctx context.Context, c *Call) error {
	w, err := t.begin(ctx, c)
	if err != nil {
		return err
	}
	return w.look(ctx)
}

// look reads the attributes of what is there, and notes what can be known of it only as
// long as names mean what they do.
func (w *work) look(ctx context.Context) error {
	if w.call.Data.Has(pathKey) {
		w.recall()
	} else {
		if err := w.resolve(ctx); err != nil {
			return err
		}
		w.remember()
	}
	if !w.call.Data.Has(givenKey) {
		w.has()
	}
	if w.Type.REST.Unseen {
		return w.attributes(ctx, nil)
	}
	object, err := w.get(ctx, w.scope.Path(w.path()), w.Type.REST.One)
	if err != nil {
		return err
	}
	return w.attributes(ctx, object)
}

// Adopt is idempotent as that of any type is.
func (t Server) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	wait, err := t.REST.Adopt(ctx, c)
	if wait > 0 || err != nil {
		return wait, err
	}
	if err := t.look(ctx, c); faults.Is(err, faults.Unavailable) || ctx.Err() != nil {
		return 0, err
	}
	return 0, nil
}

// Adopt is idempotent as that of any type is. Nobody but the stack has the private key.
func (t KeyPair) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	wait, err := t.REST.Adopt(ctx, c)
	c.Attributes.Set("private_key", c.kept(privateKey))
	return wait, err
}

// kept is a text that the type keeps; empty if there is none.
func (c *Call) kept(key string) string {
	v, _ := c.Data.Get(key)
	text, _ := v.(string)
	return text
}

// Adopt has the value be what the properties say; it is idempotent by that.
func (v Value) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	return asBefore(c, func() (time.Duration, error) { return v.Create(ctx, c) })
}

// Adopt has the output be what it was, or what the properties say if nobody knows.
func (Test) Adopt(_ context.Context, c *Call) (time.Duration, error) {
	v, known := c.Data.Get("value")
	if !known {
		v, _ = c.Properties.Get("value")
	}
	c.Attributes.Set("output", v)
	return 0, nil
}

// Adopt has the text be the one that was kept; it is idempotent by that.
func (RandomString) Adopt(_ context.Context, c *Call) (time.Duration, error) {
	v, _ := c.Data.Get("value")
	c.Attributes.Set("value", v)
	c.Reference = v
	return 0, nil
}

// Adopt is idempotent since it only looks: what isn't there, or is another project's,
// has no attributes.
func (t config) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	row, err := orchestration.GetConfig(ctx, c.tx, c.ProjectID, c.PhysicalID)
	if faults.Is(err, faults.NotFound) || faults.Is(err, faults.Invalid) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	made, err := stacks.OpenConfig(row, t.o.Box)
	if err == nil {
		c.Attributes.Set("config", made.Config)
	}
	return 0, err
}

// Adopt gives the handle a token or a user that is good for the stack that it is in now;
// what it was signalled before, it has been.
func (t handle) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	c.Data = c.Data.Without(stacks.TokenKey)
	return anew(c, func() (time.Duration, error) { return t.Create(ctx, c) })
}

// Adopt is as that of any handle.
func (t signedHandle) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	return anew(c, func() (time.Duration, error) { return t.Create(ctx, c) })
}

// Adopt has the policy be signalled in the stack that it is in now.
func (t scalingPolicy) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	return anew(c, func() (time.Duration, error) { return t.Create(ctx, c) })
}

// anew has what is made of nothing but properties keep its id, unless that is the id of
// a user, who was another stack's.
func anew(c *Call, create func() (time.Duration, error)) (time.Duration, error) {
	if c.Data.Has(usernameKey) {
		return create()
	}
	return asBefore(c, create)
}

// asBefore has what is made of nothing but properties keep its id.
func asBefore(c *Call, create func() (time.Duration, error)) (time.Duration, error) {
	id := c.PhysicalID
	defer func() { c.PhysicalID = id }()
	return create()
}
