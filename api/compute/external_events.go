package compute

// POST /os-server-external-events: what Neutron, Cinder and Ironic tell of
// servers. Each goes to the inbox of the operation that waits for it; changed
// addresses are read.

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// externalEvent is one of the body's events.
type externalEvent struct {
	Name     string  `json:"name"`
	ServerID string  `json:"server_uuid"`
	Status   string  `json:"status"`
	Tag      *string `json:"tag"`
}

// tagged are the events that say nothing without a tag.
var tagged = map[string]bool{"network-vif-deleted": true, "volume-extended": true, "power-update": true, "accelerator-request-bound": true, "volume-reimaged": true}

// networkChanged tells that a port has other addresses, fixed or floating.
const networkChanged = "network-changed"

// acceptEvents answers each event's own code; 207 if one isn't accepted.
func (a *API) acceptEvents(r *rest.Request) (*rest.Response, error) {
	events, err := readBody[[]externalEvent](r, "events")
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(*events))
	status := http.StatusOK
	var moved []string
	for i, e := range *events {
		code, err := a.acceptEvent(r, e)
		if err != nil {
			return nil, err
		}
		shown[i] = e.show(code)
		switch {
		case code != http.StatusOK:
			status = http.StatusMultiStatus
		case e.Name == networkChanged:
			moved = append(moved, e.ServerID)
		}
	}
	if err := a.readAddresses(r, moved); err != nil {
		// The next such event, or the next binding, makes up for it.
		slog.WarnContext(r.Context(), "servers are shown with the addresses that they had", "error", err)
	}
	return &rest.Response{Status: status, Body: map[string]any{"events": shown}}, nil
}

// readAddresses asks Neutron, who sent the event, in its own name for the
// addresses of these servers' ports.
func (a *API) readAddresses(r *rest.Request, serverIDs []string) error {
	if len(serverIDs) == 0 || !a.reachable(r.Identity) {
		return nil
	}
	asked, err := a.DB.Now(r.Context())
	if err != nil {
		return err
	}
	ports, err := a.Neighbours.ServerAddresses(r.Context(), r.Identity, slices.Compact(slices.Sorted(slices.Values(serverIDs)))...)
	if err != nil {
		return err
	}
	return a.DB.InTx(r.Context(), func(tx store.Tx) error { return compute.SetAddresses(r.Context(), tx, asked, ports) })
}

func (e externalEvent) show(code int) map[string]any {
	status := e.Status
	if status == "" {
		status = "completed"
	}
	if code != http.StatusOK {
		status = "failed"
	}
	shown := map[string]any{"name": e.Name, "server_uuid": e.ServerID, "status": status, "code": code}
	if e.Tag != nil {
		shown["tag"] = *e.Tag
	}
	return shown
}

// acceptEvent stores one event for whoever waits, and knocks there.
func (a *API) acceptEvent(r *rest.Request, e externalEvent) (code int, err error) {
	operationID := ""
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		server, err := compute.GetServer(r.Context(), tx, "", e.ServerID)
		switch {
		case faults.Is(err, faults.NotFound):
			code = http.StatusNotFound
			return nil
		case err != nil:
			return err
		case server.HostID == "" && server.OperationID == "": // a build has its host by its claim
			code = http.StatusUnprocessableEntity
			return nil
		case e.Tag == nil && tagged[e.Name]:
			code = http.StatusBadRequest
			return nil
		}
		code = http.StatusOK
		operationID, err = a.putEvent(r, tx, e)
		return err
	})
	if err == nil && operationID != "" {
		a.Starter.Knock(operationID)
	}
	return code, err
}

// putEvent hands the engine what its operations know; of other events nobody
// waits, and the original drops them too.
func (a *API) putEvent(r *rest.Request, tx store.Tx, e externalEvent) (operationID string, err error) {
	said := servers.ExternalEvent{Status: e.Status}
	if e.Tag != nil {
		said.Tag = *e.Tag
	}
	payload, err := json.Marshal(said)
	if err != nil {
		return "", err
	}
	operationID, err = a.Engine.Put(r.Context(), tx, engine.Event{
		Resource: operations.Server, ResourceID: e.ServerID, Name: engine.EventName(e.Name), SenderKey: said.Tag + " " + said.Status, Payload: payload,
	})
	if faults.Is(err, faults.Invalid) {
		return "", nil
	}
	return operationID, err
}
