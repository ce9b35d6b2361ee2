package baremetal

// VIFs: virtual interfaces that a node's ports or port groups bear, as instances'
// networks have them. Which is on which stands in their internal_info.

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// bearer is a port or a port group that can bear a virtual interface.
type bearer struct {
	// kind is what refusals call it.
	kind, uuid string
	vif        string
	pxe        bool
	set        func(tx store.Tx, vif string) error
}

// vifOf is the virtual interface that an internal_info names; empty for none.
func vifOf(internal json.RawMessage) string {
	var info map[string]any
	if json.Unmarshal(internal, &info) != nil {
		return ""
	}
	vif, _ := info[baremetal.VIFKey].(string)
	return vif
}

// withVIF is an internal_info with a virtual interface in it; empty for none.
func withVIF(internal json.RawMessage, vif string) (json.RawMessage, error) {
	info := map[string]any{}
	if err := json.Unmarshal(internal, &info); err != nil {
		return nil, fmt.Errorf("internal_info: %w", err)
	}
	if info[baremetal.VIFKey] = vif; vif == "" {
		delete(info, baremetal.VIFKey)
	}
	return json.Marshal(info)
}

// bearers are a node's ports and port groups, in this order; those that can bear
// another virtual interface come as free: ports of groups stand back behind their
// group unless one of them bears something already.
func bearers(r *rest.Request, q store.Queryer, n *baremetal.Node) (all, free []bearer, err error) {
	of := baremetal.List{Filters: []baremetal.Filter{{SQL: "t.node_uuid = $", Value: n.UUID}}, Limit: 1000}
	nics, err := baremetal.Ports.List(r.Context(), q, of)
	if err != nil {
		return nil, nil, err
	}
	groups, err := baremetal.Portgroups.List(r.Context(), q, of)
	if err != nil {
		return nil, nil, err
	}
	members, used := map[string][]bearer{}, map[string]bool{}
	for _, p := range nics {
		b := bearer{"Port", p.UUID, vifOf(p.InternalInfo), p.PXEEnabled, func(tx store.Tx, vif string) (err error) {
			if p.InternalInfo, err = withVIF(p.InternalInfo, vif); err != nil {
				return err
			}
			return baremetal.Ports.Update(r.Context(), tx, p)
		}}
		all = append(all, b)
		group := ""
		if p.PortgroupUUID != nil {
			group = *p.PortgroupUUID
		}
		switch {
		case !wired(n, p):
		case b.vif != "":
			used[group] = true
		case group == "":
			free = append(free, b)
		default:
			members[group] = append(members[group], b)
		}
	}
	for _, g := range groups {
		b := bearer{"Portgroup", g.UUID, vifOf(g.InternalInfo), true, func(tx store.Tx, vif string) (err error) {
			if g.InternalInfo, err = withVIF(g.InternalInfo, vif); err != nil {
				return err
			}
			return baremetal.Portgroups.Update(r.Context(), tx, g)
		}}
		all = append(all, b)
		switch {
		case b.vif != "":
		case used[g.UUID]:
			free = append(free, members[g.UUID]...)
		case len(members[g.UUID]) > 0:
			free = append(free, b)
		}
	}
	return all, free, nil
}

// wired says whether the network knows where a port is: Neutron's needs a switch.
func wired(n *baremetal.Node, p *baremetal.Port) bool {
	var link, extra map[string]any
	if json.Unmarshal(p.LocalLinkConnection, &link) != nil || json.Unmarshal(p.Extra, &extra) != nil {
		return false
	}
	if extra["client-id"] != nil {
		return true
	}
	smart := link["port_id"] != nil && link["hostname"] != nil
	return smart == p.IsSmartNIC && (len(link) > 0 || !same(n.NetworkInterface, &neutronNetwork))
}

// Network interfaces by name.
var neutronNetwork, noNetwork = "neutron", "noop"

// listVIFs answers GET /nodes/{node}/vifs.
func (a *API) listVIFs(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:vif:list")
	if err != nil {
		return nil, err
	}
	all, _, err := bearers(r, a.DB.Pool, n)
	if err != nil {
		return nil, err
	}
	vifs := []map[string]string{}
	for _, b := range all {
		if b.vif != "" && !same(n.NetworkInterface, &noNetwork) {
			vifs = append(vifs, map[string]string{"id": b.vif})
		}
	}
	return rest.JSON(map[string]any{"vifs": vifs}), nil
}

// lockForVIF is the frame of what changes a node's virtual interfaces. A node
// without networks takes all and keeps none.
func (a *API) lockForVIF(r *rest.Request, rule string, change func(tx store.Tx, n *baremetal.Node, all, free []bearer) error) error {
	return a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, rule)
		if err == nil {
			err = unlocked(n)
		}
		if err != nil || same(n.NetworkInterface, &noNetwork) {
			return err
		}
		all, free, err := bearers(r, tx, n)
		if err != nil {
			return err
		}
		return change(tx, n, all, free)
	})
}

// attachVIF answers POST /nodes/{node}/vifs: the best of the free ports and port
// groups bears it. Groups come before ports, and ports that boot before others.
func (a *API) attachVIF(r *rest.Request) (*rest.Response, error) {
	body, err := object(r, "vif_attach", "vif")
	if err != nil {
		return nil, err
	}
	word := func(name string) string {
		value, _ := body.Get(name)
		text, _ := value.(string)
		return text
	}
	vif, port, group := word("id"), word("port_uuid"), word("portgroup_uuid")
	switch {
	case r.At(v(67)) && has(body, "port_uuid") && has(body, "portgroup_uuid"):
		return nil, faults.New(faults.Invalid, "Invalid", "Cannot specify both port_uuid and portgroup_uuid")
	case vif == "":
		return nil, invalid("Expected a non-empty id of a VIF")
	}
	return nil, a.lockForVIF(r, "baremetal:node:vif:attach", func(tx store.Tx, _ *baremetal.Node, all, free []bearer) error {
		for _, b := range all {
			if b.vif == vif {
				return faults.New(faults.Conflict, "VifAlreadyAttached", "Unable to attach VIF because VIF %s is already attached to Ironic %s %s", vif, b.kind, b.uuid)
			}
		}
		best := -1
		for i, b := range free {
			wanted := (port == "" || b.uuid == port) && (group == "" || b.uuid == group)
			if wanted && (best < 0 || rank(b) > rank(free[best])) {
				best = i
			}
		}
		if best < 0 {
			return faults.New(faults.Invalid, "NoFreePhysicalPorts", "Unable to attach VIF %s, not enough free physical ports.", vif)
		}
		return free[best].set(tx, vif)
	})
}

func has(body *pyjson.Object, name string) bool { _, ok := body.Get(name); return ok }

// rank is how well a bearer fits.
func rank(b bearer) int {
	switch {
	case b.kind == "Portgroup":
		return 2
	case b.pxe:
		return 1
	}
	return 0
}

// detachVIF answers DELETE /nodes/{node}/vifs/{vif}.
func (a *API) detachVIF(r *rest.Request) (*rest.Response, error) {
	vif := r.Param("vif")
	return nil, a.lockForVIF(r, "baremetal:node:vif:detach", func(tx store.Tx, n *baremetal.Node, all, _ []bearer) error {
		i := slices.IndexFunc(all, func(b bearer) bool { return b.vif == vif })
		if i < 0 {
			return faults.New(faults.Invalid, "VifNotAttached", "Unable to detach VIF %s from node %s because it is not attached to it.", vif, n.UUID)
		}
		return all[i].set(tx, "")
	})
}
