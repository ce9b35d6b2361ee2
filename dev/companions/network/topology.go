package network

// The network of a project that has none and doesn't say how it should be
// (Neutron's auto-allocated-topology): with a subnet, on a router that leads to
// the default external network.

import (
	"context"
	"net/http"
	"slices"

	"holdfast.dev/dev/companions/service"
)

const (
	// madeForProject marks the network in its document; no answer shows it.
	madeForProject = "auto_allocated"
	// Networks of projects don't meet, so that each may have the same addresses.
	madeForProjectCIDR = "10.128.0.0/26"
)

// topology answers with the network's id, which is made if need be; with
// fields=dry-run it says whether one could be.
func (s *Service) topology(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	const rule = "get_auto_allocated_topology"
	project := r.PathValue("project")
	if project != caller.ProjectID() && !caller.Admin() {
		return forbidden(rule)
	}
	if err := mayWriteAtAll(caller, rule); err != nil {
		return err
	}
	id := "dry-run=pass"
	err := s.write(r.Context(), caller, func(c *change) error {
		outside, err := c.defaultOutside(r.Context())
		if err == nil && !slices.Contains(r.URL.Query()["fields"], "dry-run") {
			id, err = c.allocate(r.Context(), project, outside)
		}
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"auto_allocated_topology": document{"id": id, "tenant_id": project, "project_id": project}})
}

// defaultOutside is the external network that routers made for projects lead to.
func (c *change) defaultOutside(ctx context.Context) (id string, err error) {
	found, err := where(ctx, c.tx, networks, `r.body->>'router:external' = 'true' AND r.body->>'is_default' = 'true'`)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", conflict("AutoAllocationFailure", "Deployment error: No default router:external network.")
	}
	return found[0].text("id"), nil
}

// onlyDefault refuses a second default external network.
func (c *change) onlyDefault(ctx context.Context, network document) error {
	if !network.flag("is_default") || !network.flag("router:external") {
		return nil
	}
	if err := c.queue(ctx, "default external network"); err != nil {
		return err
	}
	others, err := where(ctx, c.tx, networks, `r.body->>'router:external' = 'true' AND r.body->>'is_default' = 'true' AND r.id::text <> $1`, network.text("id"))
	if err == nil && len(others) > 0 {
		err = conflict("DefaultExternalNetworkExists", "A default external network already exists: %s.", others[0].text("id"))
	}
	return err
}

// allocate finds the network that was made for a project, or makes it. Those who
// ask at once take turns.
func (c *change) allocate(ctx context.Context, project, outside string) (id string, err error) {
	if err := c.queue(ctx, "topology of "+project); err != nil {
		return "", err
	}
	made, err := where(ctx, c.tx, networks, `r.project_id = $1 AND r.body->>'`+madeForProject+`' = 'true'`, project)
	if err != nil {
		return "", err
	}
	if len(made) > 0 {
		return made[0].text("id"), nil
	}
	network, err := c.createFor(ctx, networks, project, document{"name": "auto_allocated_network"})
	if err != nil {
		return "", err
	}
	subnet, err := c.createFor(ctx, subnets, project, document{"name": "auto_allocated_subnet_v4", "network_id": network["id"], "ip_version": float64(4), "cidr": madeForProjectCIDR})
	if err != nil {
		return "", err
	}
	router, err := c.createFor(ctx, routers, project, document{"name": "auto_allocated_router", "external_gateway_info": map[string]any{"network_id": outside}})
	if err != nil {
		return "", err
	}
	if _, err := c.attachSubnet(ctx, router, subnet.text("id")); err != nil {
		return "", err
	}
	return network.text("id"), nil
}

// createFor makes a part of what is made for a project.
func (c *change) createFor(ctx context.Context, k *kind, project string, given document) (document, error) {
	values, err := k.parse(c.caller, given, true)
	if err != nil {
		return nil, err
	}
	values["project_id"], values[madeForProject] = project, true
	return c.create(ctx, k, values)
}
