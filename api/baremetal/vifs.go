package baremetal

// VIFs: ports of Neutron that a node's ports or port groups bear, as instances' networks
// have them.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// forVIF finds the node of the path, whose networks must be valid.
func (a *API) forVIF(r *rest.Request, rule string) (*baremetal.Node, error) {
	n, err := a.node(r, a.DB.Pool, rule)
	if err == nil {
		err = a.mayNetwork(r, n, steps.NetworkNone)
	}
	return n, err
}

// listVIFs answers GET /nodes/{node}/vifs.
func (a *API) listVIFs(r *rest.Request) (*rest.Response, error) {
	n, err := a.forVIF(r, "baremetal:node:vif:list")
	if err != nil {
		return nil, err
	}
	wires, err := nodes.WiringOf(r.Context(), a.DB.Pool, n)
	if err != nil {
		return nil, err
	}
	vifs := []map[string]string{}
	for _, b := range wires.Bearing() {
		if nodes.NetworkInterface(n) != nodes.NetworkNoop {
			vifs = append(vifs, map[string]string{"id": b.VIF()})
		}
	}
	return rest.JSON(map[string]any{"vifs": vifs}), nil
}

// bears has the operation done by which a node bears a VIF, or bears it no longer; may says
// why that can't be, by how the node is wired. A node without networks takes all and keeps
// none.
func (a *API) bears(r *rest.Request, rule string, ask steps.NodeCommandInput, may func(*nodes.Wiring) error) error {
	if _, err := a.forVIF(r, rule); err != nil {
		return err
	}
	var accepted engine.Accepted
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, rule)
		if err == nil {
			err = unlocked(n)
		}
		if err != nil || nodes.NetworkInterface(n) == nodes.NetworkNoop {
			return err
		}
		wires, err := nodes.WiringOf(r.Context(), tx, n)
		if err == nil {
			err = may(wires)
		}
		if err == nil {
			accepted, err = a.begin(r, tx, n, operations.NodeCommand, ask)
		}
		return err
	})
	if err != nil || accepted.OperationID == "" {
		return asBMC(err)
	}
	a.offer(accepted)
	return a.await(r, accepted.OperationID)
}

// attachVIF answers POST /nodes/{node}/vifs. What bears the VIF is chosen by the operation,
// which knows the physical networks that it can be on.
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
	ask := steps.NodeCommandInput{Command: steps.AttachVIF, VIF: word("id"), Port: word("port_uuid"), Portgroup: word("portgroup_uuid")}
	switch {
	case r.At(v(67)) && has(body, "port_uuid") && has(body, "portgroup_uuid"):
		return nil, faults.New(faults.Invalid, "Invalid", "Cannot specify both port_uuid and portgroup_uuid")
	case ask.VIF == "":
		return nil, invalid("Expected a non-empty id of a VIF")
	}
	return nil, a.bears(r, "baremetal:node:vif:attach", ask, func(w *nodes.Wiring) error {
		_, err := w.Choose(ask, nil)
		return err
	})
}

func has(body *pyjson.Object, name string) bool { _, ok := body.Get(name); return ok }

// detachVIF answers DELETE /nodes/{node}/vifs/{vif}.
func (a *API) detachVIF(r *rest.Request) (*rest.Response, error) {
	ask := steps.NodeCommandInput{Command: steps.DetachVIF, VIF: r.Param("vif")}
	return nil, a.bears(r, "baremetal:node:vif:detach", ask, func(w *nodes.Wiring) error {
		if _, borne := w.Bearer(ask.VIF); !borne {
			return w.NotBorne(ask.VIF)
		}
		return nil
	})
}
