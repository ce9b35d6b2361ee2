package compute

// /servers/{server_id}/os-instance-actions: what was done to a server. A view
// of the engine's operations and of what ended within its request.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store/compute"
)

// instanceAction is one entry of a server's history.
type instanceAction struct {
	action, requestID, projectID, userID string
	operationID                          string
	began, changed                       time.Time
	failed                               bool
	message                              string
}

// historyLength is how many of a server's actions are looked through.
const historyLength = 1000

// actionsOf reads a server's history, newest first; from 2.21 a deleted one's too.
func (a *API) actionsOf(r *rest.Request, rule string) (*compute.Server, []instanceAction, error) {
	get := compute.GetServer
	if r.Has(21) {
		get = compute.GetServerOrDeleted
	}
	server, err := get(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("server_id"))
	if err == nil {
		err = r.Enforce(rule, serverTarget(server))
	}
	if err != nil {
		return nil, nil, err
	}
	ops, err := a.Engine.Operations(r.Context(), a.DB.Pool, engine.Filter{ResourceID: server.ID, Limit: historyLength})
	if err != nil {
		return nil, nil, err
	}
	var all []instanceAction
	for _, op := range ops {
		if spec, ok := operations.Lookup(op.Kind); ok && spec.Action != "" {
			all = append(all, ofOperation(op, spec.Action))
		}
	}
	done, err := compute.ServerActions(r.Context(), a.DB.Pool, server.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range done {
		all = append(all, instanceAction{action: d.Action, requestID: d.RequestID, projectID: d.ProjectID, userID: d.UserID, began: d.DoneAt, changed: d.DoneAt})
	}
	slices.SortStableFunc(all, func(a, b instanceAction) int { return b.began.Compare(a.began) })
	return server, all, nil
}

func ofOperation(op engine.Operation, action string) instanceAction {
	changed := op.CreatedAt
	if op.FinishedAt != nil {
		changed = *op.FinishedAt
	} else if op.DispatchedAt != nil {
		changed = *op.DispatchedAt
	}
	return instanceAction{
		action: action, requestID: op.RequestID, projectID: op.ProjectID, userID: op.UserID, operationID: op.ID,
		began: op.CreatedAt, changed: changed, failed: op.Result == operations.ResultFailed, message: op.Message,
	}
}

func (a *API) listInstanceActions(r *rest.Request) (*rest.Response, error) {
	server, all, err := a.actionsOf(r, "os_compute_api:os-instance-actions:list")
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if r.Has(58) {
		if all, err = changedWithin(r, all); err != nil {
			return nil, err
		}
		limit, err := pageSize(r.Query, a.MaxPageSize)
		if err != nil {
			return nil, err
		}
		if all, err = pageAfter(all, r.Query.Get("marker"), limit); err != nil {
			return nil, err
		}
		if len(all) > 0 {
			if links := nextLinks(r, "servers/"+server.ID+"/os-instance-actions", len(all), limit, all[len(all)-1].requestID); links != nil {
				body["links"] = links
			}
		}
	}
	shown := make([]map[string]any, len(all))
	for i, action := range all {
		shown[i] = action.show(r, server.ID)
	}
	body["instanceActions"] = shown
	return rest.JSON(body), nil
}

// changedWithin narrows a history by changes-since and, from 2.66, changes-before.
func changedWithin(r *rest.Request, all []instanceAction) ([]instanceAction, error) {
	since, before, err := changes(r)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(a instanceAction) bool {
		return since != nil && a.changed.Before(*since) || before != nil && a.changed.After(*before)
	}), nil
}

// pageAfter is the page that follows the action of the marker's request.
func pageAfter(all []instanceAction, marker string, limit int) ([]instanceAction, error) {
	if marker != "" {
		i := slices.IndexFunc(all, func(a instanceAction) bool { return a.requestID == marker })
		if i < 0 {
			return nil, faults.New(faults.Invalid, "MarkerNotFound", "Marker %s could not be found.", marker)
		}
		all = all[i+1:]
	}
	return all[:min(len(all), limit)], nil
}

func (i instanceAction) show(r *rest.Request, serverID string) map[string]any {
	shown := map[string]any{
		"action": i.action, "instance_uuid": serverID, "request_id": i.requestID,
		"user_id": nullIfEmpty(i.userID), "project_id": nullIfEmpty(i.projectID), "start_time": microsecond(&i.began), "message": nil,
	}
	if i.failed {
		shown["message"] = "Error"
	}
	if r.Has(58) {
		shown["updated_at"] = microsecond(&i.changed)
	}
	return shown
}

func (a *API) showInstanceAction(r *rest.Request) (*rest.Response, error) {
	server, all, err := a.actionsOf(r, "os_compute_api:os-instance-actions:show")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(a instanceAction) bool { return a.requestID == r.Param("id") })
	if i < 0 {
		return nil, faults.New(faults.NotFound, "ActionNotFound", "Action %s not found", r.Param("id"))
	}
	shown := all[i].show(r, server.ID)
	if r.Has(51) || r.Allows(policyActionEvents, serverTarget(server)) {
		if shown["events"], err = a.actionEvents(r, server, all[i]); err != nil {
			return nil, err
		}
	}
	return rest.JSON(map[string]any{"instanceAction": shown}), nil
}

// Policies of what is shown of events.
const (
	policyActionEvents  = "os_compute_api:os-instance-actions:events"
	policyActionDetails = "os_compute_api:os-instance-actions:events:details"
)

// actionEvents are the steps of the action's operation.
func (a *API) actionEvents(r *rest.Request, server *compute.Server, action instanceAction) ([]map[string]any, error) {
	shown := []map[string]any{}
	if action.operationID == "" {
		return shown, nil
	}
	events, err := a.Engine.Events(r.Context(), a.DB.Pool, action.operationID)
	if err != nil {
		return nil, err
	}
	names, err := a.hostNames(r.Context(), events)
	if err != nil {
		return nil, err
	}
	privileged, detailed := r.Allows(policyActionEvents, serverTarget(server)), r.Allows(policyActionDetails, serverTarget(server))
	for _, e := range events {
		event := map[string]any{
			"event": eventName(action.action, e.Step), "start_time": microsecond(&e.StartedAt),
			"finish_time": microsecond(e.FinishedAt), "result": eventResult(e.Result),
		}
		if privileged {
			event["traceback"] = nil
		}
		if r.Has(62) {
			event["hostId"] = hostIDOf(server.ProjectID, names[e.Host])
			if privileged && names[e.Host] != "" {
				event["host"] = names[e.Host]
			}
		}
		if r.Has(84) && detailed {
			event["details"] = nullIfEmpty(e.Message)
		}
		shown = append(shown, event)
	}
	return shown, nil
}

// hostNames gives the names of the hosts that events were on.
func (a *API) hostNames(ctx context.Context, events []engine.OperationEvent) (map[string]string, error) {
	names := map[string]string{}
	for _, e := range events {
		if _, known := names[e.Host]; known || e.Host == "" {
			continue
		}
		host, err := compute.GetHost(ctx, a.DB.Pool, e.Host)
		if err != nil && !faults.Is(err, faults.NotFound) {
			return nil, err
		}
		names[e.Host] = ""
		if err == nil {
			names[e.Host] = host.Name
		}
	}
	return names, nil
}

// eventNames are the original's names of what a host does for an action.
var eventNames = map[string]string{
	"create": "compute__do_build_and_run_instance",
	"delete": "compute_terminate_instance",
	"start":  "compute_start_instance",
	"stop":   "compute_stop_instance",
	"reboot": "compute_reboot_instance",
}

func eventName(action, step string) string {
	if step != operations.StepGuest {
		return "conductor_" + step
	}
	if name, ok := eventNames[action]; ok {
		return name
	}
	return "compute_" + action + "_instance"
}

// eventResult is the original's word for how a step ended; null while it lasts.
func eventResult(result operations.Result) any {
	switch result {
	case "":
		return nil
	case operations.ResultDone:
		return "Success"
	}
	return "Error"
}

// hostIDOf tells a project which of its servers share a host, and no more.
func hostIDOf(projectID, host string) string {
	if host == "" {
		return ""
	}
	sum := sha256.Sum224([]byte(projectID + host))
	return hex.EncodeToString(sum[:])
}
