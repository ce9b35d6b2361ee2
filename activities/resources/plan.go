package resources

// Plan: the graph of a traversal, and rows for all that is in it.

import (
	"context"
	"slices"

	"holdfast.dev/internal/faults"
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
		case steps.Make:
			out, err = j.planMake(ctx, tx, rows)
		case steps.Clear:
			out = j.planClear(rows)
		default:
			err = faults.New(faults.Internal, "UnknownPhase", "a traversal for %q is not known", in.Phase)
		}
		return err
	})
	return out, err
}

// planMake has a row for every resource of the template.
func (j *job) planMake(ctx context.Context, tx store.Tx, rows []*orchestration.Resource) (steps.PlanOut, error) {
	template, err := j.asked()
	if err != nil {
		return steps.PlanOut{}, err
	}
	d, err := j.definition(ctx, tx, j.stack, template)
	if err != nil {
		return steps.PlanOut{}, err
	}
	g, names, err := d.Graph()
	if err != nil {
		return steps.PlanOut{}, err
	}
	there := map[string]*orchestration.Resource{}
	for _, r := range rows {
		there[r.Name] = r
	}
	var missing []*orchestration.Resource
	for _, name := range names {
		if there[name] == nil {
			there[name] = &orchestration.Resource{Name: name, Type: d.Resource(name).Type}
			missing = append(missing, there[name])
		}
	}
	if len(missing) > 0 {
		if err := orchestration.InsertResources(ctx, tx, j.stack.ID, template, missing); err != nil {
			return steps.PlanOut{}, err
		}
	}
	out := steps.PlanOut{Needs: g.Needs}
	for node, name := range names {
		r := there[name]
		out.IDs = append(out.IDs, r.ID)
		r.Requires = nil
		for _, need := range g.Needs[node] {
			r.Requires = append(r.Requires, there[names[need]].ID)
		}
		j.describe(&out, node, r)
	}
	return out, orchestration.PutRequires(ctx, tx, missing)
}

// planClear has the rows there are, each after those that need it.
func (j *job) planClear(rows []*orchestration.Resource) steps.PlanOut {
	out := steps.PlanOut{Needs: make([][]int, len(rows))}
	nodes := map[int64]int{}
	for node, r := range rows {
		nodes[r.ID] = node
		out.IDs = append(out.IDs, r.ID)
		j.describe(&out, node, r)
	}
	for node, r := range rows {
		for _, id := range r.Requires {
			if need, ok := nodes[id]; ok {
				out.Needs[need] = append(out.Needs[need], node)
			}
		}
	}
	for _, needs := range out.Needs {
		slices.Sort(needs)
	}
	return out
}

// describe says of a node what a traversal has to know.
func (j *job) describe(out *steps.PlanOut, node int, r *orchestration.Resource) {
	if t := j.o.Types[r.Type]; t == nil || t.Instant() {
		out.Instant = append(out.Instant, node)
	}
	if r.DoneIn == j.traversal && r.Status == orchestration.Complete {
		out.Done = append(out.Done, node)
	}
}
