package resources

// Scale and Scaled: a group that is scaled by an operation on its stack, and its parent,
// which knows what it has become.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// scaled is a group that is scaled, as the operation on its stack finds it.
type scaled struct {
	*job
	nested
	// row is the group in its parent; nil if that has it no more.
	row   *orchestration.Resource
	state *stacks.State
	call  *Call
	now   become
}

// scaled reads the group of an operation. Its parent is locked before it is, as
// whoever works on that locks them.
func (a *Activities) scaled(ctx context.Context, tx store.Tx, f steps.Fence) (*scaled, error) {
	op, err := a.engine.Get(ctx, tx, f.OperationID)
	if err != nil {
		return nil, err
	}
	s, err := orchestration.GetStack(ctx, tx, "", op.ResourceID)
	if err != nil {
		return nil, err
	}
	parent, err := orchestration.LockStack(ctx, tx, s.ProjectID, s.ParentID)
	if err != nil && !faults.Is(err, faults.NotFound) {
		return nil, err
	}
	g := &scaled{}
	if g.job, err = a.open(ctx, tx, f, steps.Make); err != nil || parent == nil {
		return g, err
	}
	rows, err := orchestration.ResourcesNamed(ctx, tx, parent.ID, s.ParentResource)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.PhysicalID == s.ID {
			g.row = r
		}
	}
	if g.row == nil {
		return g, nil
	}
	var is bool
	if g.nested, is = a.o.Types[g.row.Carrier()].(nested); !is {
		return nil, faults.New(faults.Internal, "NoGroup", "%s is no group", g.row.Name)
	}
	now, err := store.Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	world := stacks.NewWorld(rows, a.o.Box)
	if g.state, err = world.Of(g.row); err != nil {
		return nil, err
	}
	g.call = &Call{Name: g.row.Name, Mark: orchestration.MarkOf(parent, g.row), ProjectID: s.ProjectID, UserID: s.UserID, Now: now, PhysicalID: s.ID,
		Properties: g.state.Properties, Data: g.state.Data, Attributes: g.state.Attributes, Reference: g.state.Reference,
		around: around{tx: tx, world: world, parent: parent, operation: g.op.Operation}}
	if g.call.definition, err = a.definition(ctx, tx, parent, g.row.TemplateID); err != nil {
		return nil, err
	}
	g.now, err = g.become(ctx, g.call)
	return g, err
}

// Scale is idempotent by how many members the group is asked to have. What takes over
// from it has asked for something else. Errors: Superseded, Invalid.
func (a *Activities) Scale(ctx context.Context, in steps.ScaleIn) (out steps.ScaleOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		g, err := a.scaled(ctx, tx, in.Fence)
		if err != nil || g.row == nil {
			return err
		}
		if out.CancelRequested = g.op.CancelRequestedAt != nil; out.CancelRequested {
			return nil
		}
		if g.input.Scale == nil {
			return faults.New(faults.Internal, "NoSize", "the operation doesn't say how many members there are to be")
		}
		if len(g.now.definition.Resources()) == g.input.Scale.Members {
			return nil
		}
		d, err := g.define(ctx, g.call, g.now, batch{members: g.input.Scale.Members})
		if err != nil {
			return err
		}
		template, err := d.Row(g.now.stack.ID, a.o.Box)
		if err != nil {
			return err
		}
		g.now.stack.Size = len(d.Resources())
		return orchestration.PutUpdate(ctx, tx, g.now.stack, template)
	})
	return out, err
}

// scaledKey is where a group's type keeps the operation that has scaled it last.
const scaledKey = "scaled_by"

// Scaled is idempotent by the members that there are, and by the operation that has
// scaled the group, after which it cools down once. Errors: Superseded.
func (a *Activities) Scaled(ctx context.Context, in steps.ScaledIn) (out steps.ScaledOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		g, err := a.scaled(ctx, tx, in.Fence)
		if err != nil || g.row == nil {
			return err
		}
		if last, _ := g.call.Data.Get(scaledKey); last == g.op.ID && in.Done {
			return nil
		}
		if err := g.read(g.call, g.now); err != nil {
			return err
		}
		if by := g.input.Scale; in.Done && by != nil {
			g.call.Data.Set(scaledKey, g.op.ID)
			if err := stacks.CoolDown(g.row, g.call.Now.Add(by.Cooldown), by.Why); err != nil {
				return err
			}
		}
		g.state.Data, g.state.Attributes, g.state.Reference = g.call.Data, g.call.Attributes, g.call.Reference
		if err := g.state.Seal(g.row, a.o.Box); err != nil {
			return err
		}
		return orchestration.PutResources(ctx, tx, []*orchestration.Resource{g.row})
	})
	return out, err
}
