package baremetal

// What clients are shown of a node, by their version and by the rules.

import (
	"encoding/json"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/store/baremetal"
)

// redactions are the fields that only some callers see, and what others do.
var redactions = map[string]any{
	"last_error":           "** Value Redacted - Requires baremetal:node:get:last_error permission. **",
	"reservation":          "** Redacted - requires baremetal:node:get:reservation permission. **",
	"driver_info":          map[string]string{"content": "** Redacted - requires baremetal:node:get:driver_info permission. **"},
	"driver_internal_info": map[string]string{"content": "** Redacted - Requires baremetal:node:get:driver_internal_info permission. **"},
}

// nodeView shows nodes: the wanted fields, nil for all.
func (a *API) nodeView(r *rest.Request, wanted []string) func(*baremetal.Node) map[string]any {
	view := viewer[baremetal.Node](r, &nodeResource, wanted)
	return func(n *baremetal.Node) map[string]any {
		shown, target := view(n, n.UUID), target(n)
		if _, ok := shown["provision_state"]; ok {
			shown["provision_state"] = nullable(string(n.ProvisionState.Shown(r.Version)))
		}
		a.reveal(r, n, target, shown)
		if !r.Allows("baremetal:node:get:filter_threshold", target) {
			for name, instead := range redactions {
				if _, ok := shown[name]; ok && !r.Allows("baremetal:node:get:"+name, target) {
					shown[name] = instead
				}
			}
		}
		return shown
	}
}

// reveal shows secrets to those whom the rules let see them; by default nobody.
func (a *API) reveal(r *rest.Request, n *baremetal.Node, target, shown map[string]any) {
	for _, s := range nodes.SecretFields {
		if _, ok := shown[s.Name]; !ok || s.Rule == "" || !r.Allows(s.Rule, target) {
			continue
		}
		if plain, err := a.revealed(n, s.Name); err == nil {
			shown[s.Name] = plain
		}
	}
}

// nullable is null for an empty text.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// showStates answers GET /nodes/{node}/states.
func (a *API) showStates(r *rest.Request) (*rest.Response, error) {
	if err := nodeResource.expected(r, nil); err != nil {
		return nil, err
	}
	n, err := a.node(r, a.DB.Pool, "baremetal:node:get_states")
	if err != nil {
		return nil, err
	}
	all := a.nodeView(r, []string{"console_enabled", "last_error", "power_state", "provision_state", "target_power_state",
		"target_provision_state", "provision_updated_at", "raid_config", "target_raid_config", "boot_mode", "secure_boot"})(n)
	delete(all, "links")
	return rest.JSON(all), nil
}

// setMaintenance takes a node out of what is done by itself.
func (a *API) setMaintenance(r *rest.Request) (*rest.Response, error) {
	reason, err := maintenanceReason(r)
	if err != nil {
		return nil, err
	}
	return nil, a.change(r, "baremetal:node:set_maintenance", func(n *baremetal.Node) {
		n.Maintenance, n.MaintenanceReason = true, reason
	})
}

func (a *API) clearMaintenance(r *rest.Request) (*rest.Response, error) {
	return nil, a.change(r, "baremetal:node:clear_maintenance", func(n *baremetal.Node) {
		n.Maintenance, n.MaintenanceReason, n.Fault = false, nil, nil
	})
}

// maintenanceReason is the body's reason or the query's; none is fine.
func maintenanceReason(r *rest.Request) (*string, error) {
	if r.Query.Has("reason") {
		reason := r.Query.Get("reason")
		return &reason, nil
	}
	if r.Body() == nil {
		return nil, nil
	}
	fields, err := r.Object()
	if err != nil {
		return nil, err
	}
	for name := range fields {
		if name != "reason" {
			return nil, faults.New(faults.Invalid, "UnknownArgument", "Unexpected arguments: %s", name)
		}
	}
	var reason *string
	if sent := fields["reason"]; sent != nil {
		if err := json.Unmarshal(sent, &reason); err != nil {
			return nil, invalid("Expected string for reason: %s", sent)
		}
	}
	return reason, nil
}
