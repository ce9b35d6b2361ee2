package orchestration

// POST .../resources/{resource_name}/signal, and the tokens that are good for it.

import (
	"cmp"
	"context"
	"crypto/subtle"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// userOf is the user that whoever signals a resource by its own token is.
func userOf(stackID, resource string) string {
	return identity.StackUser + "/" + stackID + "/" + resource
}

// tokens knows the tokens of resources that are signalled: one is good for as long
// as the resource is there that it was made for.
func (a *API) tokens(ctx context.Context, token string) (who identity.Identity, known bool, err error) {
	stackID, name, known := stacks.OfSignalToken(token)
	if !known {
		return who, false, nil
	}
	refused := faults.New(faults.Unauthorized, "Unauthorized", "The request you have made requires authentication.")
	s, err := orchestration.GetStack(ctx, a.DB.Pool, "", stackID)
	if faults.Is(err, faults.NotFound) || err == nil && s.DeletedAt != nil {
		return who, true, refused
	}
	if err != nil {
		return who, true, err
	}
	rows, err := orchestration.ResourcesNamed(ctx, a.DB.Pool, stackID, name)
	if err != nil {
		return who, true, err
	}
	for _, row := range rows {
		state, err := stacks.OpenState(row, a.Secrets)
		if err != nil {
			return who, true, err
		}
		kept, _ := state.Data.Get(stacks.TokenKey)
		if text, _ := kept.(string); text != "" && subtle.ConstantTimeCompare([]byte(text), []byte(token)) == 1 {
			user := userOf(stackID, name)
			return identity.Identity{Credentials: policy.Credentials{UserID: user, UserName: user, ProjectID: s.ProjectID, Roles: []string{identity.StackUser}}, Token: token}, true, nil
		}
	}
	return who, true, refused
}

// ownResource keeps whoever a stack has made a user to the resource that did: to any of
// the rows of its name.
func (a *API) ownResource(r *rest.Request, s *orchestration.Stack, rows []*orchestration.Resource, resource string) error {
	if !slices.Contains(r.Identity.Roles, identity.StackUser) || r.Identity.UserID == userOf(s.ID, resource) {
		return nil
	}
	for _, row := range rows {
		if row.Name != resource {
			continue
		}
		state, err := stacks.OpenState(row, a.Secrets)
		if err != nil {
			return err
		}
		if user, _ := state.Data.Get(stacks.UserKey); user == r.Identity.UserID && r.Identity.UserID != "" {
			return nil
		}
	}
	return errForbidden
}

// silentActions are those of a resource during which it isn't signalled.
var silentActions = []string{orchestration.ActionSuspend, orchestration.ActionDelete}

// signal signals the resource that the path names.
func (a *API) signal(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	if _, err := a.deliver(r, s, r.Param("resource_name")); err != nil {
		return nil, err
	}
	return rest.JSON(null), nil
}

// deliver has a resource keep what it is told, and knocks at whoever waits for that; or
// it has a group be scaled. It gives the resource's metadata by then.
func (a *API) deliver(r *rest.Request, s *orchestration.Stack, name string) (metadata string, err error) {
	var knock string
	var accepted engine.Accepted
	var missing bool
	var refusal error // that is kept as an event
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		locked, err := orchestration.LockStack(r.Context(), tx, s.ProjectID, s.ID)
		if err != nil {
			return notFoundAs(s.Name, err)
		}
		rows, err := orchestration.ResourcesNamed(r.Context(), tx, s.ID, name)
		if err != nil {
			return err
		}
		if err := a.ownResource(r, s, rows, name); err != nil {
			return err
		}
		if missing = len(rows) == 0; missing {
			return nil
		}
		row := rows[len(rows)-1]
		details := value.Of(r.Body())
		cleared, err := a.clearHook(r.Context(), tx, locked, row, details)
		if err != nil || cleared {
			knock = locked.OperationID
			return err
		}
		if slices.Contains(silentActions, row.Action) {
			refusal = faults.New(faults.Invalid, "NotSupported", "Signal resource during %s is not supported.", row.Action)
			event := orchestration.EventOf(locked, row)
			event.Reason = "Cannot signal resource during " + row.Action
			return orchestration.InsertEvents(r.Context(), tx, []orchestration.Event{event})
		}
		if err := hookOf(s, row, details, a.classOf(row.Carrier())); err != nil {
			return err
		}
		if stacks.Scales(a.Types.Find(row.Carrier())) {
			accepted, err = a.scale(r, tx, locked, row, details)
			return err
		}
		typ := a.Types.Find(row.Carrier())
		if !stacks.Signalled(typ) {
			return faults.New(faults.Invalid, "ResourceActionNotSupported", "signal is not supported for resource.")
		}
		told, err := stacks.Signal(typ, row, details)
		if err != nil {
			return err
		}
		knock, metadata = locked.OperationID, row.Metadata
		event := orchestration.EventOf(locked, row)
		event.Action, event.Reason = "SIGNAL", "Signal: "+told
		if told == "" {
			event.Reason = toldOf(details)
		}
		return orchestration.PutSignal(r.Context(), tx, row, a.waiting(), event)
	})
	switch {
	case err != nil:
	case missing:
		err = a.notThere(r, s, name)
	default:
		err = refusal
	}
	if err != nil {
		return "", err
	}
	if knock != "" {
		a.Starter.Knock(knock)
	}
	a.offer(accepted)
	return cmp.Or(metadata, "{}"), nil
}

// waiting are the types whose resources wait for signals.
func (a *API) waiting() (names []string) {
	for _, t := range a.Types.All() {
		if stacks.Waits(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

func (a *API) classOf(typ string) string {
	if t := a.Types.Find(typ); t != nil {
		return t.Class
	}
	return typ
}

// notThere says of a resource without a row whether there is to be one.
func (a *API) notThere(r *rest.Request, s *orchestration.Stack, name string) error {
	d, err := a.definition(r, s)
	if err != nil {
		return err
	}
	if d.Resource(name) != nil {
		return faults.New(faults.NotFound, "ResourceNotAvailable", "The Resource (%s) is not available.", name)
	}
	return resourceNotFound(s, name)
}

// clearHook lets a resource go on that waits at the hook that is to be cleared; false if
// it doesn't, or none is.
func (a *API) clearHook(ctx context.Context, tx store.Tx, s *orchestration.Stack, row *orchestration.Resource, details any) (bool, error) {
	m, _ := details.(*value.Map)
	given, _ := m.Get("unset_hook")
	hook, _ := given.(string)
	if !slices.Contains(hot.Hooks, hook) || s.OperationID == "" {
		return false, nil
	}
	running, err := a.Engine.Get(ctx, tx, s.OperationID)
	if err != nil {
		return false, err
	}
	asked, err := a.Engine.Asked(ctx, tx, running)
	if err != nil {
		return false, err
	}
	state, err := stacks.OpenState(row, a.Secrets)
	if err != nil || !state.ClearHook(hook, asked.ID) {
		return false, err
	}
	if err := state.Seal(row, a.Secrets); err != nil {
		return false, err
	}
	row.WakeAt = nil
	if err := orchestration.PutResources(ctx, tx, []*orchestration.Resource{row}); err != nil {
		return false, err
	}
	event := orchestration.EventOf(s, row)
	event.PhysicalID = row.PhysicalID // and not the name that it is to have
	event.Reason = "Hook " + hook + " is cleared"
	return true, orchestration.InsertEvents(ctx, tx, []orchestration.Event{event})
}

// hookOf refuses to clear a hook at which nothing waits.
func hookOf(s *orchestration.Stack, row *orchestration.Resource, details any, class string) error {
	m, _ := details.(*value.Map)
	given, asked := m.Get("unset_hook")
	if !asked {
		return nil
	}
	of := class + ` "` + row.Name + `" `
	if row.PhysicalID != "" {
		of += "[" + row.PhysicalID + "] "
	}
	of += `Stack "` + s.Name + `" [` + s.ID + `]`
	hook := value.Clip(value.Str(given), maxShown)
	if !slices.Contains(hot.Hooks, hook) {
		return faults.New(faults.Invalid, hot.InvalidBreakPoint, `Invalid hook type "%s" for %s`, hook, of)
	}
	return faults.New(faults.Invalid, hot.InvalidBreakPoint, `The "%s" hook is not defined on %s`, hook, of)
}
