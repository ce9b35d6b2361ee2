package neutron

// The calls that are made, each with what is read of the answer.

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/compute"
)

// vifBindingFailed is binding:vif_type of a port that no mechanism could bind.
const vifBindingFailed = "binding_failed"

// port is what is read of one.
type port struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	NetworkID  string            `json:"network_id"`
	ProjectID  string            `json:"tenant_id"`
	DeviceID   string            `json:"device_id"`
	Owner      string            `json:"device_owner"`
	Status     string            `json:"status"`
	MAC        string            `json:"mac_address"`
	FixedIPs   []compute.FixedIP `json:"fixed_ips"`
	HostID     string            `json:"binding:host_id"`
	VIFType    string            `json:"binding:vif_type"`
	VIFDetails json.RawMessage   `json:"binding:vif_details"`
	VNICType   string            `json:"binding:vnic_type"`
}

// fill writes the port to its row.
func (p *port) fill(row *compute.ServerPort, n *network) {
	row.PortID, row.NetworkID, row.NetworkName, row.MTU = p.ID, p.NetworkID, n.Name, n.MTU
	row.Bound, row.Active = true, row.Active || p.Status == "ACTIVE"
	row.MAC, row.FixedIPs = p.MAC, p.FixedIPs
	row.VIFType, row.VIFDetails, row.VNICType = p.VIFType, p.VIFDetails, p.VNICType
}

// network is what is read of one.
type network struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"`
}

// binding is who has a port, and where; empty is nobody.
type binding struct{ device, owner, host string }

// calls are made one after the other; each says first that the step is alive.
type calls struct {
	client *gophercloud.ServiceClient
	alive  func()
}

// portsOf lists the ports that carry a server's id.
func (c *calls) portsOf(ctx context.Context, serverID string) ([]*port, error) {
	c.alive()
	page, err := ports.List(c.client, ports.ListOpts{DeviceID: serverID}).AllPages(ctx)
	if err != nil {
		return nil, fault(err, about{})
	}
	var all []*port
	if err := ports.ExtractPortsInto(page, &all); err != nil {
		return nil, fault(err, about{})
	}
	return all, nil
}

// floatingIPs lists the floating addresses of a port; a Neutron without them
// has none.
func (c *calls) floatingIPs(ctx context.Context, portID string) (all []compute.FloatingIP, err error) {
	c.alive()
	page, err := floatingips.List(c.client, floatingips.ListOpts{PortID: portID}).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil, nil
	}
	if err == nil {
		err = page.(floatingips.FloatingIPPage).ExtractIntoSlicePtr(&all, "floatingips")
	}
	if err != nil {
		return nil, fault(err, about{port: portID})
	}
	return all, nil
}

func (c *calls) port(ctx context.Context, id string) (*port, error) {
	c.alive()
	p := &port{}
	if err := ports.Get(ctx, c.client, id).ExtractInto(p); err != nil {
		return nil, fault(err, about{port: id})
	}
	return p, nil
}

func (c *calls) network(ctx context.Context, id string) (*network, error) {
	c.alive()
	n := &network{}
	if err := networks.Get(ctx, c.client, id).ExtractInto(n); err != nil {
		return nil, fault(err, about{network: id})
	}
	return n, nil
}

// projectNetwork is the network that Neutron has made for the server's project, or
// makes now; it stays when the server goes. A cancel doesn't cut the call short.
func (c *calls) projectNetwork(ctx context.Context, t *task) (string, error) {
	c.alive()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return openstack.AllocatedNetwork(ctx, c.client, t.server.ProjectID, "")
}

// create makes the port of one of ours. A cancel doesn't cut the call short:
// nobody would know whether there is a port.
func (c *calls) create(ctx context.Context, t *task, row *compute.ServerPort) (*port, error) {
	c.alive()
	up := true
	base := ports.CreateOpts{
		NetworkID: row.NetworkID, Name: mark(row), AdminStateUp: &up, TenantID: t.server.ProjectID,
		DeviceID: t.server.ID, DeviceOwner: t.owner(),
	}
	if row.FixedIP != "" {
		base.FixedIPs = []ports.IP{{IPAddress: row.FixedIP}}
	}
	if len(row.SecurityGroups) > 0 {
		base.SecurityGroups = &row.SecurityGroups
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	p := &port{}
	err := ports.Create(ctx, c.client, portsbinding.CreateOptsExt{CreateOptsBuilder: base, HostID: t.host.Name}).ExtractInto(p)
	if err != nil {
		return nil, fault(err, about{network: row.NetworkID, address: row.FixedIP})
	}
	return p, nil
}

// bind gives a port to a server on a host, or, with an empty binding, lets go of it.
func (c *calls) bind(ctx context.Context, id string, b binding) (*port, error) {
	c.alive()
	p := &port{}
	opts := portsbinding.UpdateOptsExt{
		UpdateOptsBuilder: ports.UpdateOpts{DeviceID: &b.device, DeviceOwner: &b.owner},
		HostID:            &b.host,
	}
	if err := ports.Update(ctx, c.client, id, opts).ExtractInto(p); err != nil {
		return nil, fault(err, about{port: id})
	}
	return p, nil
}

func (c *calls) remove(ctx context.Context, id string) error {
	c.alive()
	return fault(ports.Delete(ctx, c.client, id).ExtractErr(), about{port: id})
}
