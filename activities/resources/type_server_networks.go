package resources

// The networks of a server that is there: which ports it has, and how they are put in
// and out when its networks change.

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

const (
	// wiredKey is where a server's networks are kept, each with the port that it has.
	wiredKey = "wired"
	// movesKey is where it is kept which ports are being put in and out.
	movesKey = "moves"
)

// The parts of a server's moves: networks that stay, those that go and come, and the
// ports that there were before.
const (
	stay   = "stay"
	out    = "out"
	in     = "in"
	before = "before"
)

// portHad is the port that a kept network has.
func portHad(one *value.Map) any { return has(one, "has") }

// there are the ports that the server has.
func (p *ports) there(ctx context.Context) ([]*value.Map, error) {
	return p.list(ctx, "ports?device_id="+url.QueryEscape(p.call.PhysicalID), "ports")
}

// idsOf are the ids of ports.
func idsOf(all []*value.Map) []any {
	ids := []any{}
	for _, port := range all {
		ids = append(ids, has(port, "id"))
	}
	return ids
}

// firstIP is a port's first address, and the subnet of that.
func firstIP(port *value.Map) (ip, subnet any) {
	given, _ := port.Get("fixed_ips")
	list, _ := given.([]any)
	if len(list) == 0 {
		return nil, nil
	}
	m, _ := list[0].(*value.Map)
	return has(m, "ip_address"), has(m, "subnet_id")
}

// fits says whether a port is what a server's network says of it.
func (p *ports) fits(ctx context.Context, one, port *value.Map) (bool, error) {
	if wanted := has(one, "port"); wanted != nil {
		return wanted == has(port, "id"), nil
	}
	network, err := p.networkOf(ctx, one)
	if err != nil && !faults.Is(err, faults.NotFound) {
		return false, err
	}
	ip, subnet := firstIP(port)
	same := func(name string, is any) bool { wanted := has(one, name); return wanted == nil || wanted == is }
	return same("fixed_ip", ip) && same("subnet", subnet) && (network == nil || network == has(port, "network_id")), nil
}

// precise is how much a network says of its port: who says more comes first.
func precise(one *value.Map) (n int) {
	for weight, name := range []string{"network", "subnet", "fixed_ip", "port"} {
		if has(one, name) != nil {
			n += 1 << weight
		}
	}
	return n
}

// byPrecision are the places of networks, those first that say most of their ports.
func byPrecision(all []*value.Map) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return precise(all[b]) - precise(all[a]) })
	return order
}

// paired are networks, each with the port that it has.
func (p *ports) paired(ctx context.Context, all, there []*value.Map) ([]any, error) {
	left, paired := slices.Clone(there), make([]any, len(all))
	for _, i := range byPrecision(all) {
		one := all[i].Copy()
		for n, port := range left {
			fits, err := p.fits(ctx, one, port)
			if err != nil {
				return nil, err
			}
			if fits {
				one.Set("has", has(port, "id"))
				left = slices.Delete(left, n, n+1)
				break
			}
		}
		paired[i] = one
	}
	return paired, nil
}

// rewire has the server have the ports that its networks say, each in its turn: what
// is to be done is written down first. Of those that it has otherwise none is touched.
func (w *work) rewire(ctx context.Context) (time.Duration, error) {
	p, err := w.grouped(ctx)
	if err != nil {
		return 0, err
	}
	there, err := p.there(ctx)
	if err != nil {
		return 0, err
	}
	kept, _ := w.call.Data.Get(movesKey)
	moves, planned := kept.(*value.Map)
	if !planned {
		moves, err = w.moves(ctx, p, there)
		if err != nil {
			return 0, err
		}
		w.call.Data.Set(portsKey, true)
		w.call.Data.Set(movesKey, moves)
		return soon, nil
	}
	moves = moves.Copy()
	if going := networks(has(moves, out)); len(going) > 0 {
		wait, err := w.putOut(ctx, p, going, there)
		if wait > 0 || err != nil {
			return wait, err
		}
		moves.Set(out, []any{})
		w.call.Data.Set(movesKey, moves)
		return soon, nil
	}
	coming := networks(has(moves, in))
	if len(coming) == 0 {
		staying, _ := moves.Get(stay)
		w.call.Data.Set(wiredKey, staying)
		w.call.Data = w.call.Data.Without(movesKey)
		return 0, nil
	}
	port, wait, err := w.putIn(ctx, p, coming[0], moves, there)
	if wait > 0 || err != nil {
		return wait, err
	}
	one := coming[0].Copy()
	one.Set("has", port)
	staying, _ := has(moves, stay).([]any)
	rest, _ := has(moves, in).([]any)
	moves.Set(stay, append(slices.Clone(staying), one))
	moves.Set(in, slices.Clone(rest[1:]))
	w.call.Data.Set(movesKey, moves)
	return soon, nil
}

// moves says what is to be done for the server to have its networks.
func (w *work) moves(ctx context.Context, p *ports, there []*value.Map) (*value.Map, error) {
	wanted, err := w.wanted(ctx, p)
	if err != nil {
		return nil, err
	}
	made, err := p.made(ctx)
	if err != nil {
		return nil, err
	}
	kept, _ := w.call.Data.Get(wiredKey)
	was := networks(kept)
	if len(was) == 0 {
		for _, id := range idsOf(there) {
			was = append(was, value.NewMap("has", id))
		}
	}
	matches := map[int]*value.Map{}
	for _, i := range byPrecision(wanted) {
		match, err := p.unchanged(ctx, wanted[i], was, there, made)
		if err != nil {
			return nil, err
		}
		if match != nil {
			matches[i] = match
			was = slices.DeleteFunc(slices.Clone(was), func(other *value.Map) bool { return other == match })
		}
	}
	staying, going, coming, number := []any{}, []any{}, []any{}, 0
	for i, one := range wanted {
		one = one.Copy()
		if match := matches[i]; match != nil {
			one.Set("has", portHad(match))
			if err := p.change(ctx, one, match); err != nil {
				return nil, err
			}
			staying = append(staying, one)
			continue
		}
		for ownPort(one) && has(one, "name") == nil {
			name := p.portName(number)
			if number++; !slices.ContainsFunc(made, func(port *value.Map) bool { return has(port, "name") == name }) {
				one.Set("name", name)
			}
		}
		coming = append(coming, one)
	}
	for _, one := range was {
		going = append(going, one)
	}
	return value.NewMap(before, idsOf(there), stay, staying, out, going, in, coming), nil
}

// wanted are the networks that the server is to have, with ids in the place of names.
func (w *work) wanted(ctx context.Context, p *ports) ([]*value.Map, error) {
	given, _ := w.scope.Properties.Get("networks")
	all := networks(given)
	switch how := allocated(all); {
	case how == "none":
		return nil, nil
	case how != "":
		network, err := p.onlyNetwork(ctx)
		return []*value.Map{value.NewMap("network", network)}, err
	case len(all) == 0:
		return []*value.Map{{}}, nil // any one that Nova gives
	}
	return all, nil
}

// onlyNetwork is the one that a server gets by itself. Errors: Invalid, there are several.
func (p *ports) onlyNetwork(ctx context.Context) (any, error) {
	var all []*value.Map
	for _, query := range []string{"project_id=" + url.QueryEscape(p.call.ProjectID) + "&shared=false&admin_state_up=true", "shared=true"} {
		some, err := p.list(ctx, "networks?"+query, "networks")
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	switch len(all) {
	case 0:
		topology, err := p.get(ctx, "auto-allocated-topology/"+url.PathEscape(p.call.ProjectID), "auto_allocated_topology")
		m, _ := topology.(*value.Map)
		return has(m, "id"), err
	case 1:
		return has(all[0], "id"), nil
	}
	return nil, faults.New(faults.Invalid, "UnableToAutoAllocateNetwork", "Unable to automatically allocate a network: Multiple possible networks found.")
}

// unchanged is the one of the networks that there were whose port a network keeps.
func (p *ports) unchanged(ctx context.Context, one *value.Map, was, there, made []*value.Map) (*value.Map, error) {
	for _, old := range was {
		i := slices.IndexFunc(there, func(port *value.Map) bool { return has(port, "id") == portHad(old) })
		if i < 0 || !value.Equal(has(one, "floating_ip"), has(old, "floating_ip")) || !value.Equal(has(one, "tag"), has(old, "tag")) {
			continue
		}
		own := slices.ContainsFunc(made, func(port *value.Map) bool { return has(port, "id") == portHad(old) })
		if !sameExtras(one, old) && !(own && changeable(one, old)) {
			continue
		}
		if fits, err := p.fits(ctx, one, there[i]); fits || err != nil {
			return old, err
		}
	}
	return nil, nil
}

func sameExtras(one, old *value.Map) bool {
	return value.Equal(has(one, "port_extra_properties"), has(old, "port_extra_properties"))
}

// changeable says whether what is said of a port beside its network is changed in place.
func changeable(one, old *value.Map) bool {
	now, some := has(one, "port_extra_properties").(*value.Map)
	was, _ := has(old, "port_extra_properties").(*value.Map)
	return some && value.Equal(has(now, "mac_address"), has(was, "mac_address"))
}

// change has a port that stays be what is said of it by now.
func (p *ports) change(ctx context.Context, one, old *value.Map) error {
	if sameExtras(one, old) {
		return nil
	}
	port := &value.Map{}
	more, _ := has(one, "port_extra_properties").(*value.Map)
	extras(port, more.Without("mac_address"))
	_, err := p.do(ctx, http.MethodPut, "ports/"+url.PathEscape(value.Str(portHad(one))), value.NewMap("port", port))
	return err
}

// interfaces is where the server's ports are put in and out.
func (w *work) interfaces() string { return w.scope.Path(w.path() + "/os-interface") }

// blocked is a refusal that ends by itself.
func (w *work) blocked(err error) bool {
	return faults.Is(err, faults.Conflict) && w.call.until(blockedFor) > 0
}

// putOut takes ports out of the server; those that were made for it go.
func (w *work) putOut(ctx context.Context, p *ports, going, there []*value.Map) (time.Duration, error) {
	here := idsOf(there)
	for _, one := range going {
		port := portHad(one)
		if port == nil || !value.In(port, here) {
			continue
		}
		_, err := w.do(ctx, http.MethodDelete, w.interfaces()+"/"+url.PathEscape(value.Str(port)), nil)
		if err != nil && !faults.Is(err, faults.NotFound) && !w.blocked(err) {
			return 0, err
		}
		return pause, nil
	}
	made, err := p.made(ctx)
	if err != nil {
		return 0, err
	}
	for _, one := range going {
		if err := p.takeBack(ctx, one); err != nil {
			return 0, err
		}
		if port := portHad(one); value.In(port, idsOf(made)) {
			if err := p.remove(ctx, port); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// putIn puts the port of a network into the server.
func (w *work) putIn(ctx context.Context, p *ports, one, moves *value.Map, there []*value.Map) (port any, wait time.Duration, err error) {
	made, err := p.made(ctx)
	if err != nil {
		return nil, 0, err
	}
	port = has(one, "port")
	asked := &value.Map{}
	if ownPort(one) {
		if port, err = p.ensure(ctx, made, value.Str(has(one, "name")), one); err != nil {
			return nil, 0, err
		}
	}
	if port != nil {
		asked.Set("port_id", port)
	} else {
		if network := has(one, "network"); network != nil {
			asked.Set("net_id", network)
		}
		if ip := has(one, "fixed_ip"); ip != nil {
			asked.Set("fixed_ips", []any{value.NewMap("ip_address", ip)})
		}
	}
	if tag := has(one, "tag"); tag != nil {
		asked.Set("tag", tag)
	}
	for _, have := range there {
		id := has(have, "id")
		if port != nil && id != port || port == nil && !w.isNew(p, moves, have) {
			continue
		}
		if port == nil && len(p.groups) > 0 {
			body := value.NewMap("port", value.NewMap("security_groups", p.groups))
			if _, err := p.do(ctx, http.MethodPut, "ports/"+url.PathEscape(value.Str(id)), body); err != nil {
				return nil, 0, err
			}
		}
		return id, 0, p.give(ctx, one, id)
	}
	_, err = w.do(ctx, http.MethodPost, w.interfaces(), value.NewMap("interfaceAttachment", asked))
	if err != nil && !w.blocked(err) {
		return nil, 0, err
	}
	return nil, pause, nil
}

// isNew says whether a port is one that Nova has made for this move: it was not there
// before, and is not another's.
func (w *work) isNew(p *ports, moves, port *value.Map) bool {
	had, _ := has(moves, before).([]any)
	if value.In(has(port, "id"), had) || has(port, "description") == p.call.Mark {
		return false
	}
	taken := func(one *value.Map) bool {
		return portHad(one) == has(port, "id") || has(one, "port") == has(port, "id")
	}
	return !slices.ContainsFunc(networks(has(moves, stay)), taken) && !slices.ContainsFunc(networks(has(moves, in)), taken)
}
