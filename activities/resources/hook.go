package resources

// Hooks: resources wait for a user before or after something is done with them.

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// hookLook is how long nobody looks at a resource that waits at a hook, unless somebody
// knocks.
const hookLook = time.Minute

// readHooks reads what hooks there are. A stack is deleted without them if it can't be
// read any more what it was asked to be.
func (s *shift) readHooks(ctx context.Context, q store.Queryer) error {
	d := s.definition
	if s.kind == operations.StackDelete && s.phase == steps.Clear {
		var err error
		if d, err = s.Activities.definition(ctx, q, s.stack, s.stack.TemplateID); err != nil && !faults.Is(err, faults.Unavailable) {
			slog.WarnContext(ctx, "a stack's template can't be read; it is deleted without hooks", "stack", s.stack.ID, "error", err)
			return nil
		} else if err != nil {
			return err
		}
	}
	if d != nil && d.Environment.Registry.Sets("hooks") {
		s.hooks = d.Environment.Registry
	}
	return nil
}

// before is the hook that a resource comes to when its node is begun; empty is none.
func (s *shift) before(id int64, r *orchestration.Resource) string {
	switch {
	case s.hooks == nil, r.Status == orchestration.InProgress:
		return ""
	case id < 0:
		return s.has(r, s.kind == operations.StackDelete, "pre-delete")
	case s.kind == operations.StackCreate:
		return s.has(r, r.Action == orchestration.ActionInit, "pre-create")
	}
	return s.has(r, r.Action != orchestration.ActionInit, "pre-update")
}

// after is the hook that it comes to when that is done.
func (s *shift) after(id int64, r *orchestration.Resource) string {
	switch {
	case s.hooks == nil:
		return ""
	case id < 0:
		return s.has(r, s.kind == operations.StackDelete, "post-delete")
	case r.Action == orchestration.ActionCreate:
		return s.has(r, s.kind == operations.StackCreate, "post-create")
	}
	return s.has(r, r.Action == orchestration.ActionUpdate, "post-update")
}

func (s *shift) has(r *orchestration.Resource, due bool, hook string) string {
	if due && s.hooks.HasHook(r.Name, hook) {
		return hook
	}
	return ""
}

// hookActions are actions as the events of hooks have them.
var hookActions = map[string]string{"pre-create": orchestration.ActionCreate, "post-create": orchestration.ActionCreate, "pre-update": orchestration.ActionUpdate,
	"post-update": orchestration.ActionUpdate, "pre-delete": orchestration.ActionDelete, "post-delete": orchestration.ActionDelete}

// hold has a resource wait at a hook until it is cleared; false if it needn't, or need
// no longer.
func (s *shift) hold(id int64, r *orchestration.Resource, hook string) (bool, error) {
	if hook == "" {
		return false, nil
	}
	state, err := s.world.Of(r)
	if err != nil {
		return false, err
	}
	switch reached, waits := state.HookReached(hook, s.traversal); {
	case reached && !waits:
		return false, nil
	case !reached:
		state.ReachHook(hook, s.traversal)
		event := orchestration.EventOf(s.stack, r)
		event.PhysicalID = r.PhysicalID // and not the name that it is to have
		event.Reason = hookActions[hook] + " paused until Hook " + hook + " is cleared"
		s.events = append(s.events, event)
	}
	at := s.now.Add(hookLook)
	r.WakeAt = &at
	s.out.Waiting = append(s.out.Waiting, steps.Wait{ID: id, After: hookLook})
	s.keep(r)
	return true, nil
}

// paused says whether a resource waits at a hook, or did so until now and all else is
// done with it.
func (s *shift) paused(id int64, r *orchestration.Resource) (bool, error) {
	if hook := s.after(id, r); hook != "" && r.Status == orchestration.Complete {
		state, err := s.world.Of(r)
		if err != nil {
			return false, err
		}
		if reached, waits := state.HookReached(hook, s.traversal); reached {
			if !waits {
				s.through(id, r)
				return true, nil
			}
			return s.hold(id, r, hook)
		}
	}
	return s.hold(id, r, s.before(id, r))
}

// through says that all is done with a resource.
func (s *shift) through(id int64, r *orchestration.Resource) {
	s.out.Done = append(s.out.Done, id)
	if id < 0 {
		s.gone = append(s.gone, r.ID)
		return
	}
	r.DoneIn, r.WakeAt = s.traversal, nil
	s.keep(r)
}

// refused ends a resource's part by an action that is restricted; the resource is what
// it was, and its row remembers that this was told.
func (s *shift) refused(id int64, r *orchestration.Resource, action string) bool {
	if !slices.Contains(s.definition.Environment.Registry.Restricted(r.Name), action) {
		return false
	}
	failure := faults.New(faults.Forbidden, "ResourceActionRestricted", "%s is restricted for resource.", action)
	if told := s.traversal + " refused"; r.DoneIn != told {
		event := orchestration.EventOf(s.stack, r)
		event.Action, event.Status, event.Reason = orchestration.ActionUpdate, orchestration.Failed, failure.Error()
		s.events = append(s.events, event)
		r.DoneIn = told
		s.keep(r)
	}
	s.out.Failed = &steps.FailedResource{ID: id, Reason: "Resource UPDATE failed: " + reasonAt("resources."+r.Name, failure)}
	return true
}
