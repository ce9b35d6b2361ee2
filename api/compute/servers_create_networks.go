package compute

// What a create request says of networks and security groups, as the ports
// that the build is to make or bind.

import (
	"bytes"
	"encoding/json"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/compute"
)

// networkRequest is an entry of "networks".
type networkRequest struct {
	Network string `json:"uuid"`
	Port    string `json:"port"`
	FixedIP string `json:"fixed_ip"`
	Tag     string `json:"tag"`
	// allocated is one that isn't there yet.
	allocated bool
}

// ports are the server's interfaces in their order. Words and absence mean: all
// that there is where there is one, "none" none, and "auto" one that is made for
// the project where there is none.
func (a *API) ports(r *rest.Request, asked *createRequest) ([]compute.ServerPort, error) {
	groups, err := a.securityGroups(r, asked)
	if err != nil {
		return nil, err
	}
	requests, chosen, err := readNetworks(asked.Networks)
	if err != nil {
		return nil, err
	}
	if chosen != listed {
		if requests, err = a.onlyNetwork(r, chosen); err != nil {
			return nil, err
		}
	} else if err := r.Enforce("os_compute_api:servers:create:attach_network", nil); err != nil && len(requests) > 0 {
		return nil, err
	}
	ports := make([]compute.ServerPort, len(requests))
	for i, n := range requests {
		if err := n.check(requests[:i], asked.count); err != nil {
			return nil, err
		}
		ports[i] = compute.ServerPort{Ours: n.Port == "", NetworkID: n.Network, PortID: n.Port, FixedIP: n.FixedIP, Tag: n.Tag}
		if ports[i].Ours {
			ports[i].SecurityGroups = groups
		}
		if err := a.checkPort(r, &ports[i]); err != nil {
			return nil, err
		}
		if err := a.checkAddress(r, &ports[i]); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// choice is who chooses a server's networks.
type choice int

const (
	// listed: the request does.
	listed choice = iota
	// ours: we do, among what the project has.
	ours
	// allocated: we do, and one is made for a project that has none.
	allocated
)

// readNetworks reads the list, or who chooses.
func readNetworks(raw json.RawMessage) (requests []networkRequest, chosen choice, err error) {
	switch word := string(bytes.TrimSpace(raw)); word {
	case "":
		return nil, ours, nil
	case `"auto"`:
		return nil, allocated, nil
	case `"none"`:
		return nil, listed, nil
	}
	if err := json.Unmarshal(raw, &requests); err != nil {
		return nil, listed, faults.Wrap(err, faults.Invalid, "BadNetworks", "Bad networks format")
	}
	if len(requests) == 0 { // like a list that was not sent
		return nil, ours, nil
	}
	return requests, listed, nil
}

// check refuses what contradicts itself or an earlier entry.
func (n networkRequest) check(before []networkRequest, count counts) error {
	switch {
	case n.Port != "" && n.FixedIP != "":
		return faults.New(faults.Invalid, "FixedIPWithPort",
			"Specified Fixed IP '%s' cannot be used with port '%s': the two cannot be specified together.", n.FixedIP, n.Port)
	case n.Port == "" && n.Network == "" && !n.allocated:
		return faults.New(faults.Invalid, "BadNetworks", "Bad network format: missing 'uuid'")
	case n.Port != "" && count.most > 1:
		return faults.New(faults.Invalid, "MultiplePortsNotApplicable",
			"Failed to launch instances: Unable to launch multiple instances with a single configured port ID. Please launch your instance one by one with different ports.")
	case n.FixedIP != "" && count.most > 1:
		return faults.New(faults.Invalid, "InvalidFixedIpAndMaxCountRequest",
			"Failed to launch instances: max_count cannot be greater than 1 if an fixed_ip is specified.")
	}
	for _, other := range before {
		if n.Port != "" && n.Port == other.Port {
			return faults.New(faults.Invalid, "PortTwice", "Port ID '%s' was specified twice: you cannot attach a port multiple times.", n.Port)
		}
	}
	return nil
}

// onlyNetwork is the one network of the project; more than one are ambiguous,
// and none is no network, or one that is made when the server is built.
func (a *API) onlyNetwork(r *rest.Request, chosen choice) ([]networkRequest, error) {
	if !a.reachable(r.Identity) {
		return nil, nil
	}
	networks, err := a.Neighbours.Networks(r.Context(), r.Identity)
	if err != nil {
		return nil, err
	}
	switch {
	case len(networks) > 1:
		return nil, faults.New(faults.Conflict, "NetworkAmbiguous",
			"More than one possible network found. Specify network ID(s) to select which one(s) to connect to.")
	case len(networks) == 0 && chosen == allocated:
		return []networkRequest{{allocated: true}}, a.Neighbours.CanAllocateNetwork(r.Context(), r.Identity)
	case len(networks) == 0:
		return nil, nil
	}
	return []networkRequest{{Network: networks[0].ID}}, nil
}

// checkPort asks Neutron whether the caller may use the port or network.
func (a *API) checkPort(r *rest.Request, p *compute.ServerPort) error {
	if !a.reachable(r.Identity) {
		return nil
	}
	if !p.Ours {
		return a.checkOwnPort(r, p)
	}
	if p.NetworkID == "" { // it isn't there yet
		return nil
	}
	network, err := a.Neighbours.Network(r.Context(), r.Identity, p.NetworkID)
	switch {
	case faults.Is(err, faults.NotFound):
		return faults.New(faults.Invalid, "NetworkNotFound", "Network %s could not be found.", p.NetworkID)
	case err != nil:
		return err
	case len(network.Subnets) == 0:
		return faults.New(faults.Invalid, "NetworkRequiresSubnet", "Network %s requires a subnet in order to boot instances on.", p.NetworkID)
	case network.External && !network.Shared:
		if r.Enforce("network:attach_external_network", nil) != nil {
			return faults.New(faults.Forbidden, "ExternalNetworkAttachForbidden", "It is not allowed to create an interface on external network %s", p.NetworkID)
		}
	}
	return nil
}

// checkAddress refuses an address that a port has which the caller sees. Neutron
// says the rest when the port is made.
func (a *API) checkAddress(r *rest.Request, p *compute.ServerPort) error {
	if p.FixedIP == "" || !a.reachable(r.Identity) {
		return nil
	}
	taken, err := a.Neighbours.InterfacesAt(r.Context(), r.Identity, p.NetworkID, p.FixedIP)
	if err == nil && len(taken) > 0 {
		err = faults.New(faults.Invalid, "FixedIpAlreadyInUse", "Fixed IP address %s is already in use on instance %s.", p.FixedIP, taken[0].DeviceID)
	}
	return err
}

func (a *API) checkOwnPort(r *rest.Request, p *compute.ServerPort) error {
	port, err := a.Neighbours.Port(r.Context(), r.Identity, p.PortID)
	switch {
	case faults.Is(err, faults.NotFound):
		return faults.New(faults.Invalid, "PortNotFound", "Port id %s could not be found.", p.PortID)
	case err != nil:
		return err
	case port.DeviceID != "":
		return faults.New(faults.Conflict, "PortInUse", "Port %s is still in use.", p.PortID)
	case len(port.FixedIPs) == 0:
		return faults.New(faults.Invalid, "PortRequiresFixedIP", "Port %s requires a FixedIP in order to be used.", p.PortID)
	}
	p.NetworkID = port.NetworkID
	return nil
}

// securityGroups gives the ids of the groups asked for; the default one alone
// is left to Neutron.
func (a *API) securityGroups(r *rest.Request, asked *createRequest) ([]string, error) {
	names := asked.groupNames()
	if len(names) == 1 && names[0] == defaultGroup || !a.reachable(r.Identity) {
		return nil, nil
	}
	known, err := a.Neighbours.SecurityGroups(r.Context(), r.Identity)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		id, ok := known[name]
		if !ok {
			return nil, faults.New(faults.Invalid, "SecurityGroupNotFound", "Security group %s not found.", name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// defaultGroup is the security group of ports that nothing is said of.
const defaultGroup = "default"

// groupNames are the security groups' names, each once. One without a name says
// nothing.
func (c *createRequest) groupNames() []string {
	var names []string
	for _, g := range c.SecurityGroups {
		if g.Name != "" && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return []string{defaultGroup}
	}
	return names
}
