package baremetal

// Runbooks: steps under a name. A runbook is a project's, or public.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

var runbooks = kind[baremetal.Runbook]{
	resource: &runbookResource, table: baremetal.Runbooks, rule: "baremetal:runbook:", param: "runbook", misnamed: "Expected UUID or name for runbook_ident: %s", what: "runbook",
	schema: "runbook_create_1_112", bodySchema: runbookBody, byName: alwaysNamed,
	filters: []filter{{name: "project", since: 1}},
	list: func(_ *API, r *rest.Request) (func(*listing) error, error) {
		project, err := mayList(r, "runbook", r.Query.Get("project"))
		return func(l *listing) error {
			if project != "" {
				l.Filters = append(l.Filters, baremetal.Filter{SQL: "(t.owner = $ OR t.public)", Value: project})
			}
			return nil
		}, err
	},
	may:    mayRunbook,
	rules:  runbookRules,
	create: createRunbook,
	change: changeRunbook,
	dress: func(_ *rest.Request, b *baremetal.Runbook, _ []string, shown map[string]any) {
		if _, ok := shown["steps"]; ok {
			shown["steps"] = masked(b.Steps)
		}
	},
}

// runbookBody: names were traits until runbooks got traits of their own.
func runbookBody(r *rest.Request) string {
	if !r.At(v(112)) {
		return "runbook_create_1_92_to_1_111"
	}
	return "runbook_create_1_112"
}

// mayRunbook asks rules about a runbook. One that the caller may not see isn't
// there; public ones may be seen by all.
func mayRunbook(_ *API, r *rest.Request, _ store.Queryer, b *baremetal.Runbook, rules ...string) error {
	owner := map[string]any{"runbook.owner": b.Owner}
	if !b.Public && !r.Allows("baremetal:runbook:get", owner) {
		return baremetal.Runbooks.Missing(r.Param("runbook"))
	}
	for _, rule := range rules {
		if b.Public && rule == "baremetal:runbook:get" {
			continue
		}
		if err := r.Enforce(rule, owner); err != nil {
			return err
		}
	}
	return nil
}

// runbookRules are the rules that a patch needs.
func runbookRules(changes []change) []string {
	const update = "baremetal:runbook:update"
	return distinctRules(changes, update, func(c change) string {
		switch {
		case strings.HasPrefix(c.path, "/owner"):
			return update + ":owner"
		case strings.HasPrefix(c.path, "/public"):
			return update + ":public"
		}
		return update
	})
}

// createRunbook gives a project's runbook its owner.
func createRunbook(_ *API, r *rest.Request, _ store.Tx, _ *pyjson.Object, b *baremetal.Runbook) (err error) {
	if b.Steps, err = stepsOfRunbooks.distinct(b.Steps); err != nil || r.Identity.SystemScope == "all" {
		return err
	}
	project := r.Identity.ProjectID
	switch {
	case b.Owner != nil && *b.Owner != "" && *b.Owner != project:
		return faults.New(faults.Invalid, "Invalid", "Cannot create a runbook as a project scoped admin with an owner other than your own project.")
	case project != "" && b.Public:
		return faults.New(faults.Invalid, "Invalid", "Cannot create a public runbook as a project scoped admin.")
	}
	b.Owner = &project
	return nil
}

// changeRunbook: what is public has no owner.
func changeRunbook(_ *API, _ *rest.Request, _ store.Tx, before, after *baremetal.Runbook, changes []change) (err error) {
	owned, published := len(values(changes, "/owner")) > 0, len(values(changes, "/public")) > 0
	switch {
	case owned && (after.Public || before.Public && !published):
		return unpatchable(changes, "There cannot be an owner for a public runbook")
	case published && !owned:
		after.Owner = nil
	}
	after.Steps, err = stepsOfRunbooks.distinct(after.Steps)
	return err
}

// masked is a list of steps without the secrets that they are given.
func masked(steps []byte) any {
	value, _, err := pyjson.Parse(steps)
	list, ok := value.([]any)
	if err != nil || !ok {
		return []any{}
	}
	for _, step := range list {
		if object, ok := step.(*pyjson.Object); ok {
			args, _ := object.Get("args")
			nodes.Hide(args, "", nil, nil, map[string]any{})
		}
	}
	return list
}

// listRunbookTraits answers GET /runbooks/{runbook}/traits.
func (a *API) listRunbookTraits(r *rest.Request) (*rest.Response, error) {
	b, err := runbooks.find(a, r, "baremetal:runbook:get")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"traits": b.Traits}), nil
}

// setRunbookTraits replaces all.
func (a *API) setRunbookTraits(r *rest.Request) (*rest.Response, error) {
	traits, err := readTraits(r, &runbookResource)
	if err != nil {
		return nil, err
	}
	return nil, a.changeRunbookTraits(r, func([]string) []string { return traits })
}

// addRunbookTrait adds the one in the path.
func (a *API) addRunbookTrait(r *rest.Request) (*rest.Response, error) {
	trait, err := readTrait(r)
	if err != nil {
		return nil, err
	}
	err = a.changeRunbookTraits(r, func(had []string) []string { return append(had, trait) })
	if err != nil {
		return nil, err
	}
	return (&rest.Response{}).WithHeader("Location", r.Link("runbooks", r.Param("runbook"), "traits", trait)), nil
}

// removeRunbookTraits takes away the one in the path, which need not be there, or
// all.
func (a *API) removeRunbookTraits(r *rest.Request) (*rest.Response, error) {
	trait := r.Param("trait")
	return nil, a.changeRunbookTraits(r, func(had []string) []string {
		return slices.DeleteFunc(had, func(t string) bool { return trait == "" || t == trait })
	})
}

func (a *API) changeRunbookTraits(r *rest.Request, change func([]string) []string) error {
	return a.DB.InTx(r.Context(), func(tx store.Tx) error {
		b, err := runbooks.lock(a, r, tx, "baremetal:runbook:update")
		if err != nil {
			return err
		}
		b.Traits = slices.Compact(slices.Sorted(slices.Values(change(b.Traits))))
		if len(b.Traits) > maxTraits {
			return invalid("Could not modify traits for runbook %s as it would exceed the maximum number of traits (%d vs. %d)", b.UUID, len(b.Traits), maxTraits)
		}
		if b.Traits == nil {
			b.Traits = []string{}
		}
		return baremetal.Runbooks.Update(r.Context(), tx, b)
	})
}
