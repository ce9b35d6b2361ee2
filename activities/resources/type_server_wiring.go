package resources

// The ports of a server that are made for it: of networks of which a template says more
// than Nova can be told.

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// portsKey is where it is kept that ports are made for a server.
const portsKey = "makes_ports"

// ports are those of one server, and its floating IPs, at Neutron.
type ports struct {
	*service
	call    *Call
	lookups *lookups
	groups  []any
}

// openPorts reads nothing yet.
func (w *work) openPorts(ctx context.Context) (*ports, error) {
	s, err := open(ctx, w.Cloud, w.call, "network", "")
	return &ports{service: s, call: w.call, lookups: w.lookups}, err
}

// grouped are the ports of a server that are to be made: its groups are theirs. Of
// several of a name the project's is meant.
func (w *work) grouped(ctx context.Context) (*ports, error) {
	p, err := w.openPorts(ctx)
	if err != nil {
		return nil, err
	}
	given, _ := w.call.Properties.Get("security_groups")
	list, _ := given.([]any)
	for _, name := range list {
		own, err := p.list(ctx, "security-groups?"+url.Values{"name": {value.Str(name)}, "project_id": {w.call.ProjectID}}.Encode(), "security_groups")
		if err != nil {
			return nil, err
		}
		if len(own) == 1 {
			p.groups = append(p.groups, has(own[0], "id"))
			continue
		}
		id, err := w.lookups.id(ctx, "neutron.security_group", value.Str(name))
		if err != nil {
			return nil, err
		}
		p.groups = append(p.groups, id)
	}
	return p, nil
}

// has is what a map has of a name; nothing and "" are null.
func has(m *value.Map, name string) any {
	v, _ := m.Get(name)
	if v == "" {
		return nil
	}
	return v
}

// ownPort says whether a network takes a port of the server's own making.
func ownPort(network *value.Map) bool {
	return has(network, "port") == nil && (has(network, "subnet") != nil || has(network, "port_extra_properties") != nil)
}

// networks are the networks that a value lists.
func networks(v any) (all []*value.Map) {
	list, _ := v.([]any)
	for _, one := range list {
		if m, ok := one.(*value.Map); ok {
			all = append(all, m)
		}
	}
	return all
}

// allocated is how a network is to be found, where the template leaves that to Nova.
func allocated(all []*value.Map) string {
	for _, one := range all {
		if said, _ := has(one, "allocate_network").(string); said != "" {
			return said
		}
	}
	return ""
}

// networkOf is the network of one of a server's: where only a subnet is said, that one's.
func (p *ports) networkOf(ctx context.Context, one *value.Map) (any, error) {
	network, subnet := has(one, "network"), has(one, "subnet")
	if subnet == nil || has(one, "port") != nil {
		return network, nil
	}
	got, err := p.get(ctx, "subnets/"+url.PathEscape(value.Str(subnet)), "subnet")
	if err != nil {
		return nil, err
	}
	m, _ := got.(*value.Map)
	of, _ := m.Get("network_id")
	if network != nil && network != of {
		return nil, &hot.Error{Class: hot.ValidationFailed, Message: fmt.Sprintf("Specified subnet %s does not belongs to network %s.", value.Str(subnet), value.Str(network))}
	}
	return of, nil
}

// made are the ports that were made for the server, by their mark.
func (p *ports) made(ctx context.Context) ([]*value.Map, error) {
	all, err := p.list(ctx, "ports?description="+url.QueryEscape(p.call.Mark), "ports")
	return slices.DeleteFunc(all, func(one *value.Map) bool { return has(one, "description") != p.call.Mark }), err
}

// portName is what the port for a server's n-th network is called.
func (p *ports) portName(n int) string { return fmt.Sprintf("%s-port-%d", p.call.Name, n) }

// ensure is the port of a name for a network, made if it isn't among those that were.
func (p *ports) ensure(ctx context.Context, made []*value.Map, name string, one *value.Map) (any, error) {
	for _, port := range made {
		if has(port, "name") == name {
			return has(port, "id"), nil
		}
	}
	network, err := p.networkOf(ctx, one)
	if err != nil {
		return nil, err
	}
	port := value.NewMap("network_id", network, "name", name, "description", p.call.Mark)
	fixed := &value.Map{}
	for field, property := range map[string]string{"ip_address": "fixed_ip", "subnet_id": "subnet"} {
		if v := has(one, property); v != nil {
			fixed.Set(field, v)
		}
	}
	if fixed.Len() > 0 {
		port.Set("fixed_ips", []any{fixed})
	}
	if len(p.groups) > 0 {
		port.Set("security_groups", p.groups)
	}
	more, _ := has(one, "port_extra_properties").(*value.Map)
	extras(port, more)
	answer, err := p.do(ctx, http.MethodPost, "ports", value.NewMap("port", port))
	if err != nil {
		return nil, err
	}
	of, _ := under(answer, "port").(*value.Map)
	return has(of, "id"), nil
}

// extras are what a template says of a port beside its network.
func extras(port, more *value.Map) {
	specs, _ := has(more, "value_specs").(*value.Map)
	for i := range specs.Len() {
		port.Set(specs.At(i))
	}
	for _, name := range []string{"admin_state_up", "mac_address", "binding:vnic_type", "port_security_enabled", "propagate_uplink_status"} {
		if v := has(more, name); v != nil {
			port.Set(name, v)
		}
	}
	if v := has(more, "qos_policy"); v != nil {
		port.Set("qos_policy_id", v)
	}
	if value.Truth(has(more, "no_fixed_ips")) {
		port.Set("fixed_ips", []any{})
	}
	pairs, _ := has(more, "allowed_address_pairs").([]any)
	if pairs == nil {
		return
	}
	given := make([]any, 0, len(pairs))
	for _, one := range pairs {
		m, _ := one.(*value.Map)
		if has(m, "mac_address") == nil {
			m = m.Without("mac_address")
		}
		given = append(given, m)
	}
	port.Set("allowed_address_pairs", given)
}

// give has a floating IP of a server's network lead to its port.
func (p *ports) give(ctx context.Context, one *value.Map, port any) error {
	floating := has(one, "floating_ip")
	if floating == nil || port == nil {
		return nil
	}
	body := value.NewMap("port_id", port)
	if ip := has(one, "fixed_ip"); ip != nil {
		body.Set("fixed_ip_address", ip)
	}
	_, err := p.do(ctx, http.MethodPut, "floatingips/"+url.PathEscape(value.Str(floating)), value.NewMap("floatingip", body))
	return err
}

// takeBack has it lead nowhere; one that is gone does.
func (p *ports) takeBack(ctx context.Context, one *value.Map) error {
	floating := has(one, "floating_ip")
	if floating == nil {
		return nil
	}
	_, err := p.do(ctx, http.MethodPut, "floatingips/"+url.PathEscape(value.Str(floating)), value.NewMap("floatingip", value.NewMap("port_id", nil)))
	if faults.Is(err, faults.NotFound) {
		err = nil
	}
	return err
}

// remove takes a port away; one that is gone is.
func (p *ports) remove(ctx context.Context, id any) error {
	_, err := p.do(ctx, http.MethodDelete, "ports/"+url.PathEscape(value.Str(id)), nil)
	if faults.Is(err, faults.NotFound) {
		err = nil
	}
	return err
}

// wire makes the ports that the server is to be made with, and has its properties name
// them. It is idempotent by the mark and the names of the ports.
func (t Server) wire(ctx context.Context, c *Call) (time.Duration, error) {
	given, _ := c.Properties.Get("networks")
	all := networks(given)
	if allocated(all) != "" || !slices.ContainsFunc(all, func(one *value.Map) bool { return ownPort(one) || has(one, "floating_ip") != nil }) {
		return 0, nil
	}
	if !c.Data.Has(portsKey) {
		c.Data.Set(portsKey, true)
		return soon, nil
	}
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if err := w.resolve(ctx); err != nil {
		return 0, err
	}
	p, err := w.grouped(ctx)
	if err != nil {
		return 0, err
	}
	made, err := p.made(ctx)
	if err != nil {
		return 0, err
	}
	resolved, _ := w.scope.Properties.Get("networks")
	wired := []any{}
	for n, one := range networks(resolved) {
		port := has(one, "port")
		if ownPort(one) {
			if port, err = p.ensure(ctx, made, p.portName(n), one); err != nil {
				return 0, err
			}
		}
		if err := p.give(ctx, one, port); err != nil {
			return 0, err
		}
		if port != nil {
			one = one.Without("fixed_ip") // it is the port's
			one.Set("port", port)
		}
		wired = append(wired, one)
	}
	c.Properties = c.Properties.Copy()
	c.Properties.Set("networks", wired)
	return 0, nil
}

// unwire takes away the ports that were made for a server that is gone.
func (t Server) unwire(ctx context.Context, c *Call) error {
	given, _ := c.Properties.Get("networks")
	if !c.Data.Has(portsKey) && !slices.ContainsFunc(networks(given), ownPort) {
		return nil
	}
	s, err := open(ctx, t.Cloud, c, "network", "")
	if err != nil {
		return err
	}
	p := &ports{service: s, call: c}
	made, err := p.made(ctx)
	if err != nil {
		return err
	}
	for _, one := range made {
		if err := p.remove(ctx, has(one, "id")); err != nil {
			return err
		}
	}
	return nil
}
