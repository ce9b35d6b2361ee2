package orchestration

// PATCH of a resource: somebody knows that it is broken, or that it isn't.

import (
	"maps"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// The keys of the body.
const (
	keyUnhealthy = "mark_unhealthy"
	keyReason    = "resource_status_reason"
)

func (a *API) markUnhealthy(r *rest.Request) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	unknown := map[string]bool{}
	for i := range body.Len() {
		if key, _ := body.At(i); key != keyUnhealthy && key != keyReason {
			unknown[value.Repr(key)] = true
		}
	}
	if len(unknown) > 0 {
		return nil, invalid("Invalid keys in resource mark unhealthy {%s}", value.Clip(strings.Join(slices.Sorted(maps.Keys(unknown)), ", "), maxShown))
	}
	given, ok := body.Get(keyUnhealthy)
	if !ok {
		return nil, invalid("Missing mandatory (%s) key from mark unhealthy request", keyUnhealthy)
	}
	unhealthy, err := truth(keyUnhealthy, given)
	if err != nil {
		return nil, err
	}
	reason := "state changed by resource_mark_unhealthy api"
	if said, _ := body.Get(keyReason); said != nil && value.Str(said) != "" {
		reason = value.Str(said)
	}
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		locked, err := orchestration.LockStack(r.Context(), tx, s.ProjectID, s.ID)
		if err != nil {
			return notFoundAs(s.Name, err)
		}
		rows, err := orchestration.Resources(r.Context(), tx, s.ID)
		if err != nil {
			return err
		}
		row, err := a.named(locked, rows, r.Param("resource_name"))
		switch {
		case err != nil:
			return err
		case row.Status == orchestration.InProgress:
			return inProgress(locked)
		case unhealthy && row.Action != orchestration.ActionDelete:
			row.Status = orchestration.Failed
		case !unhealthy && row.Action == orchestration.ActionCheck && row.Status == orchestration.Failed:
			row.Status = orchestration.Complete
		default:
			return nil
		}
		row.Action, row.Reason = orchestration.ActionCheck, reason
		if err := orchestration.PutResources(r.Context(), tx, []*orchestration.Resource{row}); err != nil {
			return err
		}
		return orchestration.InsertEvents(r.Context(), tx, []orchestration.Event{orchestration.EventOf(locked, row)})
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(null), nil
}

// named is the resource of a name, or else of a physical id, or else of what
// get_resource gives of it.
func (a *API) named(s *orchestration.Stack, rows []*orchestration.Resource, name string) (*orchestration.Resource, error) {
	for _, row := range slices.Backward(rows) {
		if row.Name == name {
			return row, nil
		}
	}
	if at := slices.IndexFunc(rows, func(row *orchestration.Resource) bool { return row.PhysicalID == name && name != "" }); at >= 0 {
		if slices.ContainsFunc(rows[at+1:], func(row *orchestration.Resource) bool { return row.PhysicalID == name }) {
			return nil, faults.New(faults.Invalid, "PhysicalResourceIDAmbiguity", "Multiple resources were found with the physical ID (%s).", value.Clip(name, maxShown))
		}
		return rows[at], nil
	}
	world := stacks.NewWorld(rows, a.Secrets)
	for _, row := range rows {
		if reference, err := world.Reference(row.Name); err != nil {
			return nil, err
		} else if reference == name {
			return row, nil
		}
	}
	return nil, resourceNotFound(s, name)
}
