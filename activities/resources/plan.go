package resources

// Plan: the graph of a traversal, and rows for all that is in it.

import (
	"cmp"
	"context"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Plan is idempotent by the names of resources: a row that is there stays, and
// what this traversal has done by then is said to be done. Errors: Superseded,
// Invalid.
func (a *Activities) Plan(ctx context.Context, in steps.PlanIn) (out steps.PlanOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		j, err := a.open(ctx, tx, in.Fence, in.Phase)
		if err != nil {
			return err
		}
		rows, err := orchestration.Resources(ctx, tx, j.stack.ID)
		if err != nil {
			return err
		}
		switch in.Phase {
		case steps.Make, steps.Adopt, steps.Back:
			out, err = j.planMake(ctx, tx, rows)
		case steps.Clear:
			out = j.planClear(rows)
		case steps.Check, steps.Suspend, steps.Resume, steps.Snapshot:
			out = j.planVisit(rows)
		case steps.Forget:
			out, err = j.planForget(ctx, tx)
		default:
			err = faults.New(faults.Internal, "UnknownPhase", "a traversal for %q is not known", in.Phase)
		}
		return err
	})
	return out, err
}

// planMake has a row for every resource of the template, and after those the
// taking away of whatever was there before an update.
func (j *job) planMake(ctx context.Context, tx store.Tx, rows []*orchestration.Resource) (steps.PlanOut, error) {
	template := j.asked()
	d, err := j.definition(ctx, tx, j.stack, template)
	if err != nil {
		return steps.PlanOut{}, err
	}
	if d.WantsZones() {
		return steps.PlanOut{Zones: true}, nil
	}
	next, names, err := d.Graph()
	if err != nil {
		return steps.PlanOut{}, err
	}
	if j.phase == steps.Back {
		if err := takeBack(ctx, tx, rows, template); err != nil {
			return steps.PlanOut{}, err
		}
	}
	now := map[string]*orchestration.Resource{}
	for _, r := range rows {
		if r.ReplacedBy == 0 {
			now[r.Name] = r
		}
	}
	var missing []*orchestration.Resource
	for _, name := range names {
		if now[name] == nil {
			now[name] = &orchestration.Resource{Name: name, Type: d.Resource(name).Type, CarriedBy: d.CarriedBy(d.Resource(name))}
			missing = append(missing, now[name])
		}
	}
	if len(missing) > 0 {
		if err := orchestration.InsertResources(ctx, tx, j.stack.ID, template, missing); err != nil {
			return steps.PlanOut{}, err
		}
	}
	var out steps.PlanOut
	for node, name := range names {
		r := now[name]
		out.IDs = append(out.IDs, r.ID)
		if j.phase == steps.Adopt || slices.Contains(missing, r) {
			r.Requires = nil
			for _, need := range next.Needs[node] {
				r.Requires = append(r.Requires, now[names[need]].ID)
			}
		}
		j.describe(&out, node, r, cmp.Or(d.CarriedBy(d.Resource(name)), d.Resource(name).Type))
	}
	if j.phase == steps.Adopt {
		missing = rows // they are there, but for what they need
	}
	if err := orchestration.PutRequires(ctx, tx, missing); err != nil || j.kind == operations.StackCreate || j.phase == steps.Adopt {
		out.Needs = next.Needs
		return out, err
	}
	out.Needs, err = j.cleanUp(&out, next, names, rows)
	return out, err
}

// takeBack gives their places back to resources that were replaced and are still
// there as the template of before had them.
func takeBack(ctx context.Context, tx store.Tx, rows []*orchestration.Resource, template int64) error {
	byID := map[int64]*orchestration.Resource{}
	for _, r := range rows {
		byID[r.ID] = r
	}
	var changed []*orchestration.Resource
	for _, r := range rows {
		was := byID[r.Replaces]
		if r.ReplacedBy != 0 || was == nil || was.Status != orchestration.Complete || was.TemplateID != template {
			continue
		}
		was.ReplacedBy, was.Replaces, r.Replaces, r.ReplacedBy = 0, r.ID, 0, was.ID
		changed = append(changed, was, r)
	}
	return orchestration.PutResources(ctx, tx, changed)
}

// cleanUp is the graph of an update: the making, and the taking away of what was
// there.
func (j *job) cleanUp(out *steps.PlanOut, next graph.Graph, names []string, rows []*orchestration.Resource) ([][]int, error) {
	nodes := map[int64]int{}
	for i, r := range rows {
		nodes[r.ID] = i
	}
	var edges []graph.Edge
	successor := make([]int, len(rows))
	for i, r := range rows {
		successor[i] = slices.Index(names, r.Name) // graph.None is -1 too
		for _, id := range r.Requires {
			if need, ok := nodes[id]; ok {
				edges = append(edges, graph.Edge{Node: i, Needs: need})
			}
		}
		out.IDs = append(out.IDs, -r.ID)
		j.describe(out, next.Len()+i, nil, r.Carrier())
	}
	before, err := graph.New(len(rows), edges)
	if err != nil {
		return nil, err
	}
	g, err := graph.Merge(next, before, successor)
	return g.Needs, err
}

// planClear has the rows there are, each after those that need it.
func (j *job) planClear(rows []*orchestration.Resource) steps.PlanOut {
	out := steps.PlanOut{Needs: needsOf(rows).Reverse().Needs}
	for node, r := range rows {
		out.IDs = append(out.IDs, -r.ID)
		j.describe(&out, node, nil, r.Carrier())
	}
	return out
}

// needsOf is the graph of rows as they need each other.
func needsOf(rows []*orchestration.Resource) graph.Graph {
	nodes := map[int64]int{}
	for node, r := range rows {
		nodes[r.ID] = node
	}
	g := graph.Graph{Needs: make([][]int, len(rows))}
	for node, r := range rows {
		for _, id := range r.Requires {
			if need, ok := nodes[id]; ok {
				g.Needs[node] = append(g.Needs[node], need)
			}
		}
		slices.Sort(g.Needs[node])
	}
	return g
}

// describe says of a node what a traversal has to know: what its type is, and of
// one that is made whether that is done.
func (j *job) describe(out *steps.PlanOut, node int, r *orchestration.Resource, typ string) {
	if t := j.o.Types[typ]; t == nil || t.Instant() {
		out.Instant = append(out.Instant, node)
	}
	if r != nil && r.DoneIn == j.traversal && r.Status == orchestration.Complete {
		out.Done = append(out.Done, node)
	}
}
