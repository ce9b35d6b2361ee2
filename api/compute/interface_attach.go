package compute

// POST and DELETE of /servers/{server_id}/os-interface: interfaces that come and
// go while the server is there (contracts: action-preconditions.json,
// other_operations).

import (
	"slices"
	"strconv"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// withInterfaces are the states in which a server may be given interfaces, and
// lose them.
var withInterfaces = []servers.VMState{servers.VMActive, servers.VMPaused, servers.VMStopped}

var (
	attachingInterface = precondition{name: "attach_interface", vmStates: withInterfaces, taskStates: idle, launched: true, unlocked: true}
	detachingInterface = precondition{name: "detach_interface", vmStates: withInterfaces, taskStates: idle, launched: true, unlocked: true}
)

// attachRequest is the body's "interfaceAttachment"; all of it may be missing.
type attachRequest struct {
	NetworkID string `json:"net_id"`
	PortID    string `json:"port_id"`
	FixedIPs  []struct {
		Address string `json:"ip_address"`
	} `json:"fixed_ips"`
	Tag string `json:"tag"`
}

// port is the interface that is asked for.
func (asked *attachRequest) port(serverID string) (compute.ServerPort, error) {
	p := compute.ServerPort{ServerID: serverID, Ours: asked.PortID == "", NetworkID: asked.NetworkID, PortID: asked.PortID, Tag: asked.Tag}
	if len(asked.FixedIPs) > 0 {
		p.FixedIP = asked.FixedIPs[0].Address
	}
	switch {
	case asked.NetworkID != "" && asked.PortID != "":
		return p, faults.New(faults.Invalid, "InvalidInput", "Must not input both network_id and port_id")
	case p.FixedIP != "" && asked.NetworkID == "":
		return p, faults.New(faults.Invalid, "InvalidInput", "Must input network_id when request IP address")
	}
	return p, nil
}

// attachInterface gives the server an interface, and answers when the guest has it.
func (a *API) attachInterface(r *rest.Request) (*rest.Response, error) {
	body, err := r.Object()
	if err != nil {
		return nil, err
	}
	asked := &attachRequest{}
	if _, ok := body["interfaceAttachment"]; ok {
		if asked, err = readBody[attachRequest](r, "interfaceAttachment"); err != nil {
			return nil, err
		}
	}
	server, err := a.serverOf(r, interfaceRule+"create")
	if err != nil {
		return nil, err
	}
	port, err := asked.port(server.ID)
	if err != nil {
		return nil, err
	}
	if err := attachingInterface.check(r, server); err != nil {
		return nil, err
	}
	if err := a.findPort(r, &port); err != nil {
		return nil, err
	}
	var accepted engine.Accepted
	err = a.onServer(r, interfaceRule+"create", func(tx store.Tx, server *compute.Server) error {
		if err := attachingInterface.check(r, server); err != nil {
			return err
		}
		position, err := compute.AddPort(r.Context(), tx, port)
		if err != nil {
			return err
		}
		accepted, err = a.accept(r, tx, operations.ServerAttachInterface, server, steps.InterfaceInput{Position: position},
			operations.Effect{Kind: operations.EffectPort, Ref: strconv.Itoa(position)})
		port.Position = position
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	if err := a.await(r, accepted.OperationID); err != nil {
		return nil, err
	}
	return a.showAttached(r, server.ID, port.Position)
}

// findPort asks Neutron for the port or the network, or for the only network of
// the project if none is asked for.
func (a *API) findPort(r *rest.Request, port *compute.ServerPort) error {
	unnamed := port.Ours && port.NetworkID == ""
	none := faults.New(faults.Invalid, "InterfaceAttachFailedNoNetwork",
		"No specific network was requested and none are available for project '%s'.", r.Identity.ProjectID)
	switch {
	case !a.reachable(r.Identity) && unnamed:
		return none
	case !a.reachable(r.Identity):
		return nil
	case unnamed:
		networks, err := a.Neighbours.Networks(r.Context(), r.Identity)
		switch {
		case err != nil:
			return err
		case len(networks) == 0:
			return none
		case len(networks) > 1:
			return faults.New(faults.Invalid, "NetworkAmbiguous",
				"More than one possible network found. Specify network ID(s) to select which one(s) to connect to.")
		}
		port.NetworkID = networks[0].ID
	}
	err := a.checkPort(r, port)
	// What is not there is an answer of its own here.
	if f := faults.As(err); err != nil && slices.Contains([]string{"NetworkNotFound", "PortNotFound"}, f.Code) {
		return faults.Wrap(err, faults.NotFound, f.Code, "%s", f.Message)
	}
	return err
}

// showAttached shows the interface as Neutron has bound it.
func (a *API) showAttached(r *rest.Request, serverID string, position int) (*rest.Response, error) {
	server, err := a.serverOf(r, interfaceRule+"show")
	if err != nil {
		return nil, err
	}
	rows, err := compute.ServerPorts(r.Context(), a.DB.Pool, serverID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, func(p *compute.ServerPort) bool { return p.Position == position })
	if i < 0 || !rows[i].Bound {
		return nil, faults.New(faults.Unavailable, "InterfaceAttachFailed", "Failed to attach network adapter device to %s", serverID)
	}
	port := openstack.Interface{ID: rows[i].PortID, NetworkID: rows[i].NetworkID, MAC: rows[i].MAC, Status: "DOWN", FixedIPs: rows[i].FixedIPs}
	if rows[i].Active {
		port.Status = "ACTIVE"
	}
	return rest.JSON(map[string]any{"interfaceAttachment": interfaceView(r, server, port)}), nil
}

// detachInterface takes an interface from the server.
func (a *API) detachInterface(r *rest.Request) (*rest.Response, error) {
	var accepted engine.Accepted
	err := a.onServer(r, interfaceRule+"delete", func(tx store.Tx, server *compute.Server) error {
		if err := detachingInterface.check(r, server); err != nil {
			return err
		}
		rows, err := compute.ServerPorts(r.Context(), tx, server.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rows, func(p *compute.ServerPort) bool { return p.PortID == r.Param("id") && p.Bound })
		if i < 0 {
			return faults.New(faults.NotFound, "PortNotFound", "Port %s is not attached", r.Param("id"))
		}
		accepted, err = a.accept(r, tx, operations.ServerDetachInterface, server, steps.InterfaceInput{Position: rows[i].Position, PortID: rows[i].PortID})
		return err
	})
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	return nil, nil
}
