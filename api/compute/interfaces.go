package compute

// GET /servers/{server_id}/os-interface: a server's ports as Neutron has them;
// and addFixedIp and removeFixedIp, which change their addresses there.

import (
	"fmt"
	"log/slog"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	interfaceRule = "os_compute_api:os-attach-interfaces:"
	multinicRule  = "os_compute_api:os-multinic:"
)

// withInterfaceTag is the microversion that shows an interface's tag.
const withInterfaceTag = 70

// untilMultinic are the microversions that have addFixedIp and removeFixedIp.
var untilMultinic = microversion.Between(1, 43)

// listInterfaces answers all of them.
func (a *API) listInterfaces(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, interfaceRule+"list")
	if err != nil {
		return nil, err
	}
	var ports []openstack.Interface
	if a.reachable(r.Identity) {
		if ports, err = a.Neighbours.Interfaces(r.Context(), r.Identity, server.ID); err != nil {
			return nil, err
		}
	}
	shown := []map[string]any{}
	for _, p := range ports {
		shown = append(shown, interfaceView(r, server, p))
	}
	return rest.JSON(map[string]any{"interfaceAttachments": shown}), nil
}

// showInterface looks one up by its port.
func (a *API) showInterface(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, interfaceRule+"show")
	if err != nil {
		return nil, err
	}
	id := r.Param("id")
	missing := faults.New(faults.NotFound, "PortNotFound", "Port id %s could not be found.", id)
	if !a.reachable(r.Identity) {
		return nil, missing
	}
	port, err := a.Neighbours.Interface(r.Context(), r.Identity, id)
	switch {
	case faults.Is(err, faults.NotFound):
		return nil, missing
	case err != nil:
		return nil, err
	case port.DeviceID != server.ID:
		return nil, faults.New(faults.NotFound, "PortNotFound", "Instance %s does not have a port with id %s", server.ID, id)
	}
	return rest.JSON(map[string]any{"interfaceAttachment": interfaceView(r, server, *port)}), nil
}

func interfaceView(r *rest.Request, server *compute.Server, p openstack.Interface) map[string]any {
	shown := map[string]any{"net_id": p.NetworkID, "port_id": p.ID, "mac_addr": p.MAC, "port_state": p.Status, "fixed_ips": p.FixedIPs}
	if r.Has(withInterfaceTag) {
		shown["tag"] = nil
		for _, known := range server.Ports {
			if known.PortID == p.ID {
				shown["tag"] = textOrNil(known.Tag)
			}
		}
	}
	return shown
}

// addFixedIP asks Neutron before it answers, where the original only passes the
// request on: what it answers with 202 has been done.
func (a *API) addFixedIP(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct {
		Network any `json:"networkId"` // a text or a number
	}](r, "addFixedIp")
	if err != nil {
		return nil, err
	}
	network := fmt.Sprint(asked.Network)
	return a.changeAddresses(r, multinicRule+"add", func(server *compute.Server) error {
		missing := faults.New(faults.NotFound, "NetworkNotFoundForInstance", "Network could not be found for instance %s.", server.ID)
		if !a.reachable(r.Identity) {
			return missing
		}
		err := a.Neighbours.AddFixedIP(r.Context(), r.Identity, server.ID, network)
		switch {
		case faults.Is(err, faults.NotFound):
			return missing
		case faults.Is(err, faults.NoCapacity):
			return faults.New(faults.Invalid, "NoMoreFixedIps", "No fixed IP addresses available for network: %s", network)
		}
		return err
	})
}

func (a *API) removeFixedIP(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct{ Address string }](r, "removeFixedIp")
	if err != nil {
		return nil, err
	}
	return a.changeAddresses(r, multinicRule+"remove", func(server *compute.Server) error {
		missing := faults.New(faults.Invalid, "FixedIpNotFoundForInstance", "Instance %s does not have fixed IP '%s'.", server.ID, asked.Address)
		if !a.reachable(r.Identity) {
			return missing
		}
		err := a.Neighbours.RemoveFixedIP(r.Context(), r.Identity, server.ID, asked.Address)
		if faults.Is(err, faults.NotFound) {
			return missing
		}
		return err
	})
}

// changeAddresses changes the addresses of the request's server in Neutron, and
// reads them again.
func (a *API) changeAddresses(r *rest.Request, rule string, change func(*compute.Server) error) (*rest.Response, error) {
	var server *compute.Server
	err := a.onServer(r, rule, func(_ store.Tx, locked *compute.Server) error {
		server = locked
		return precondition{unlocked: true}.check(r, locked)
	})
	if err != nil {
		return nil, err
	}
	if err := change(server); err != nil {
		return nil, err
	}
	if err := a.readAddresses(r, []string{server.ID}); err != nil {
		// Neutron tells of the change too, and is asked from time to time.
		slog.WarnContext(r.Context(), "a server is shown with the addresses that it had", "error", err)
	}
	return nil, nil
}
