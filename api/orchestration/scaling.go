package orchestration

// What a signalled scaling policy does: it has a group have more members, or fewer.

import (
	"fmt"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// scale has the group of a policy be scaled, and tells of it. Nothing is done, nor
// told, while the group is at work or cools down, or if it would stay as large as it
// is. The caller holds the stack.
func (a *API) scale(r *rest.Request, tx store.Tx, s *orchestration.Stack, policy *orchestration.Resource, details any) (accepted engine.Accepted, err error) {
	says, err := stacks.OpenState(policy, a.Secrets)
	if err != nil {
		return accepted, err
	}
	reference, _ := says.Properties.Get("auto_scaling_group_id")
	group, err := a.groupOf(r, tx, s, value.Str(reference))
	if err != nil {
		return accepted, err
	}
	if group == nil {
		return accepted, faults.New(faults.NotFound, "NotFound", `Alarm %s could not find scaling group named "%s"`, policy.Name, value.Clip(value.Str(reference), maxShown))
	}
	nested, err := orchestration.LockStack(r.Context(), tx, s.ProjectID, group.PhysicalID)
	if err != nil {
		return accepted, err
	}
	if group.Status != orchestration.Complete || nested.Shown() != "" {
		return accepted, nil
	}
	in, err := a.adjusted(r, tx, group, says.Properties)
	if err != nil || in == nil {
		return accepted, err
	}
	accepted, err = a.start(r, tx, nested, operations.StackScale, steps.TraversalInput{Previous: nested.TemplateID, Scale: in}, orchestration.ActionUpdate)
	if err != nil {
		return accepted, err
	}
	event := orchestration.EventOf(s, policy)
	event.Action, event.Reason = "SIGNAL", toldOf(details)
	return accepted, orchestration.InsertEvents(r.Context(), tx, []orchestration.Event{event})
}

// groupOf is the group that is scaled of a reference: what get_resource gives of it, or
// its name; nil if there is none.
func (a *API) groupOf(r *rest.Request, tx store.Tx, s *orchestration.Stack, reference string) (*orchestration.Resource, error) {
	rows, err := orchestration.Resources(r.Context(), tx, s.ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.ReplacedBy == 0 && row.PhysicalID != "" && (row.PhysicalID == reference || row.Name == reference) && stacks.IsScaled(a.Types.Find(row.Carrier())) {
			return row, nil
		}
	}
	return nil, nil
}

// adjusted is what a group is scaled to by the properties of a policy; nil if it isn't.
func (a *API) adjusted(r *rest.Request, tx store.Tx, group *orchestration.Resource, policy *value.Map) (*steps.ScaleInput, error) {
	is, err := stacks.OpenState(group, a.Secrets)
	if err != nil {
		return nil, err
	}
	members, err := orchestration.Resources(r.Context(), tx, group.PhysicalID)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, m := range members {
		if m.ReplacedBy == 0 && m.Status != orchestration.Failed {
			size++
		}
	}
	by := stacks.AdjustmentOf(policy)
	after := by.Of(size, is.Properties)
	if after == size {
		return nil, nil
	}
	now, err := store.Now(r.Context(), tx)
	if err != nil {
		return nil, err
	}
	if cools, err := stacks.CoolsDown(group, now); err != nil || cools {
		return nil, err
	}
	pause, _ := policy.Get("cooldown")
	if pause == nil {
		pause, _ = is.Properties.Get("cooldown")
	}
	return &steps.ScaleInput{Members: after, Why: by.String(), Cooldown: stacks.Cooldown(pause)}, nil
}

// toldOf is what the event of a signal says of its details.
func toldOf(details any) string {
	switch d := details.(type) {
	case nil:
		return "No signal details provided"
	case string:
		return value.Clip(d, maxShown)
	case *value.Map:
		if d.Has("previous") && d.Has("current") && d.Has("reason") {
			of := func(name string) string { v, _ := d.Get(name); return value.Clip(value.Str(v), maxShown) }
			return fmt.Sprintf("alarm state changed from %s to %s (%s)", of("previous"), of("current"), of("reason"))
		}
	}
	return "Unknown"
}
