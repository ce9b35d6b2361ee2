package network

// Where a port is plugged: binding:* of the port, and the further bindings that
// a move to another host prepares.

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// BridgeName is the Linux bridge of a network.
func BridgeName(network string) string { return "brq" + network[:min(len(network), 11)] }

// vif is how a port on a host is plugged in: into the network's bridge, or by
// hands if it is a bare metal node's.
func vif(network, host, vnic string) (kind string, details map[string]any) {
	switch {
	case host == "":
		return "unbound", map[string]any{}
	case vnic == "baremetal":
		return "other", map[string]any{}
	}
	return "bridge", map[string]any{"bridge_name": BridgeName(network), "port_filter": false, "connectivity": "l2"}
}

// bind sets what follows from a port's host. A bound port is up at once: its
// bridge is there before a guest is.
func (c *change) bind(port document) {
	host := port.text("binding:host_id")
	port["binding:vif_type"], port["binding:vif_details"] = vif(port.text("network_id"), host, port.text("binding:vnic_type"))
	port["status"] = "DOWN"
	if host != "" && port.flag("admin_state_up") {
		port["status"] = "ACTIVE"
	}
}

// portToBind reads a port for its bindings, which are for administrators and
// services.
func (c *change) portToBind(ctx context.Context, id, verb string) (document, error) {
	port, err := c.find(ctx, ports, id, toChange)
	if err != nil {
		return nil, err
	}
	if !mayBind(c.caller) {
		return nil, forbidden(verb + "_port_binding")
	}
	return port, nil
}

func mayBind(caller *service.Caller) bool { return caller.Admin() || caller.Has("service") }

// activeBinding is the binding that stands in the port.
func activeBinding(port document) document {
	return document{
		"host": port["binding:host_id"], "vif_type": port["binding:vif_type"], "vif_details": port["binding:vif_details"],
		"vnic_type": port["binding:vnic_type"], "profile": port["binding:profile"], "status": "ACTIVE",
	}
}

// binding reads one of a port's bindings.
func (c *change) binding(ctx context.Context, port document, host string) (document, error) {
	if host != "" && port.text("binding:host_id") == host {
		return activeBinding(port), nil
	}
	body := document{}
	err := c.tx.QueryRow(ctx, `SELECT body FROM network.bindings WHERE port_id::text = $1 AND host = $2`, port.text("id"), host).Scan(&body)
	if service.Missing(err) {
		return nil, service.Typed(http.StatusNotFound, "PortBindingNotFound", "Binding for port %s for host %s could not be found.", port.text("id"), host)
	}
	return body, err
}

func (c *change) storeBinding(ctx context.Context, port, body document) error {
	_, err := c.tx.Exec(ctx, `INSERT INTO network.bindings (port_id, host, body) VALUES ($1::text::uuid, $2, $3)
		ON CONFLICT (port_id, host) DO UPDATE SET body = excluded.body`, port.text("id"), body.text("host"), map[string]any(body))
	return err
}

func (c *change) dropBinding(ctx context.Context, port document, host string) error {
	_, err := c.tx.Exec(ctx, `DELETE FROM network.bindings WHERE port_id::text = $1 AND host = $2`, port.text("id"), host)
	return err
}

// bindingKind has the attributes of a binding, as the kinds of resources do.
var bindingKind = &kind{name: "binding", plural: "bindings", attributes: []attribute{
	needed("host", text(longText)),
	both("vnic_type", "normal", oneOf("normal", "baremetal")),
	both("profile", map[string]any{}, anyObject),
}}

func parseBinding(r *http.Request, creating bool, caller *service.Caller) (document, error) {
	given, many, err := bindingKind.requests(r)
	if err != nil {
		return nil, err
	}
	if many {
		return nil, service.Fail(http.StatusBadRequest, "Unable to find 'binding' in request body")
	}
	values, err := bindingKind.parse(caller, given[0], creating)
	if err == nil && creating && values.text("host") == "" {
		return nil, invalid("host", "'' is not a valid host.")
	}
	return values, err
}

// editBindings runs f on the port of the request, and answers with the binding
// that f gives.
func (s *Service) editBindings(w http.ResponseWriter, r *http.Request, caller *service.Caller, verb string, status int, f func(c *change, port document) (document, error)) error {
	var body document
	err := s.write(r.Context(), caller, func(c *change) error {
		port, err := c.portToBind(r.Context(), r.PathValue("id"), verb)
		if err != nil {
			return err
		}
		body, err = f(c, port)
		return err
	})
	if err != nil {
		return err
	}
	if body == nil {
		return service.NoContent(w)
	}
	return service.JSON(w, status, map[string]any{"binding": body})
}

func (s *Service) listBindings(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var list []document
	err := s.write(r.Context(), caller, func(c *change) error {
		port, err := c.portToBind(r.Context(), r.PathValue("id"), "get")
		if err != nil {
			return err
		}
		rows, err := c.tx.Query(r.Context(), `SELECT body FROM network.bindings WHERE port_id::text = $1 ORDER BY host`, port.text("id"))
		if err != nil {
			return err
		}
		if list, err = pgx.CollectRows(rows, pgx.RowTo[document]); err != nil {
			return err
		}
		if port.text("binding:host_id") != "" {
			list = append([]document{activeBinding(port)}, list...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if list == nil {
		list = []document{}
	}
	return service.JSON(w, http.StatusOK, map[string]any{"bindings": list})
}

func (s *Service) createBinding(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	values, err := parseBinding(r, true, caller)
	if err != nil {
		return err
	}
	return s.editBindings(w, r, caller, "create", http.StatusCreated, func(c *change, port document) (document, error) {
		host := values.text("host")
		if _, err := c.binding(r.Context(), port, host); err == nil {
			return nil, conflict("PortBindingAlreadyExists", "Binding for port %s on host %s already exists.", port.text("id"), host)
		} else if service.AsError(err).Status != http.StatusNotFound {
			return nil, err
		}
		values["vif_type"], values["vif_details"] = vif(port.text("network_id"), host, values.text("vnic_type"))
		values["status"] = "INACTIVE"
		if port.text("binding:host_id") == "" {
			return c.activate(r.Context(), port, values)
		}
		return values, c.storeBinding(r.Context(), port, values)
	})
}

func (s *Service) showBinding(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	return s.editBindings(w, r, caller, "get", http.StatusOK, func(c *change, port document) (document, error) {
		return c.binding(r.Context(), port, r.PathValue("host"))
	})
}

func (s *Service) changeBinding(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	values, err := parseBinding(r, false, caller)
	if err != nil {
		return err
	}
	return s.editBindings(w, r, caller, "update", http.StatusOK, func(c *change, port document) (document, error) {
		body, err := c.binding(r.Context(), port, r.PathValue("host"))
		if err != nil {
			return nil, err
		}
		body = body.merged(values)
		body["vif_type"], body["vif_details"] = vif(port.text("network_id"), body.text("host"), body.text("vnic_type"))
		if body.text("status") == "ACTIVE" {
			return c.activate(r.Context(), port, body)
		}
		return body, c.storeBinding(r.Context(), port, body)
	})
}

func (s *Service) removeBinding(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	return s.editBindings(w, r, caller, "delete", http.StatusNoContent, func(c *change, port document) (document, error) {
		body, err := c.binding(r.Context(), port, r.PathValue("host"))
		if err != nil {
			return nil, err
		}
		if body.text("status") != "ACTIVE" {
			return nil, c.dropBinding(r.Context(), port, body.text("host"))
		}
		_, err = c.activate(r.Context(), port, document{"host": "", "vnic_type": port["binding:vnic_type"], "profile": map[string]any{}})
		return nil, err
	})
}

func (s *Service) activateBinding(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	return s.editBindings(w, r, caller, "activate", http.StatusOK, func(c *change, port document) (document, error) {
		body, err := c.binding(r.Context(), port, r.PathValue("host"))
		if err != nil {
			return nil, err
		}
		if body.text("status") == "ACTIVE" {
			return nil, conflict("PortBindingAlreadyActive", "Binding for port %s on host %s is already active.", port.text("id"), body.text("host"))
		}
		if port.text("binding:host_id") != "" {
			old := activeBinding(port)
			old["status"] = "INACTIVE"
			if err := c.storeBinding(r.Context(), port, old); err != nil {
				return nil, err
			}
		}
		return c.activate(r.Context(), port, body)
	})
}

// activate puts a binding into the port. Its host hears of it even when the
// port was up on another one.
func (c *change) activate(ctx context.Context, port, body document) (document, error) {
	before := port.merged(nil)
	if before.text("binding:host_id") != body.text("host") {
		before["status"] = "DOWN"
		if body.text("host") == "" {
			before["status"] = port["status"]
		}
	}
	port["binding:host_id"], port["binding:vnic_type"], port["binding:profile"] = body["host"], body["vnic_type"], body["profile"]
	c.bind(port)
	if err := c.dropBinding(ctx, port, body.text("host")); err != nil {
		return nil, err
	}
	if err := c.update(ctx, port); err != nil {
		return nil, err
	}
	return activeBinding(port), c.tellStatus(ctx, before, port)
}
