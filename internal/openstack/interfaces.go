package openstack

// The ports of one server as Neutron has them, and what callers change of their
// addresses in their own name.

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/store/compute"
)

// Interface is a port of a server.
type Interface struct {
	ID        string            `json:"id"`
	NetworkID string            `json:"network_id"`
	DeviceID  string            `json:"device_id"`
	MAC       string            `json:"mac_address"`
	Status    string            `json:"status"`
	FixedIPs  []compute.FixedIP `json:"fixed_ips"`
}

// Interfaces lists the ports of a server. Errors: Unavailable.
func (c *Caller) Interfaces(ctx context.Context, who identity.Identity, serverID string) ([]Interface, error) {
	var document struct{ Ports []Interface }
	err := c.network(ctx, who, &document, "ports"+anyOf("device_id", []string{serverID}))
	return document.Ports, err
}

// InterfacesAt lists the ports of a network, of those that the caller sees, that have
// an address. Errors: Unavailable.
func (c *Caller) InterfacesAt(ctx context.Context, who identity.Identity, networkID, address string) ([]Interface, error) {
	var document struct{ Ports []Interface }
	query := url.Values{"network_id": {networkID}, "fixed_ips": {"ip_address=" + address}}
	err := c.network(ctx, who, &document, "ports?"+query.Encode())
	return document.Ports, err
}

// Interface reads a port. Errors: NotFound, Unavailable.
func (c *Caller) Interface(ctx context.Context, who identity.Identity, portID string) (*Interface, error) {
	var document struct{ Port Interface }
	err := c.network(ctx, who, &document, "ports", portID)
	return &document.Port, err
}

// AddFixedIP gives one of a server's ports on a network one more address, of the
// first subnet that has one. Errors: NotFound (no such port, or no subnet),
// NoCapacity (no subnet has an address), Unavailable.
func (c *Caller) AddFixedIP(ctx context.Context, who identity.Identity, serverID, networkID string) error {
	ports, err := c.Interfaces(ctx, who, serverID)
	if err != nil {
		return err
	}
	ports = slices.DeleteFunc(ports, func(p Interface) bool { return p.NetworkID != networkID })
	var document struct{ Subnets []struct{ ID string } }
	if err := c.network(ctx, who, &document, "subnets"+anyOf("network_id", []string{networkID})); err != nil {
		return err
	}
	err = faults.New(faults.NotFound, "NotFound", "the server has no port on network %s", networkID)
	for _, p := range ports {
		for _, subnet := range document.Subnets {
			more := append(slices.Clone(p.FixedIPs), compute.FixedIP{SubnetID: subnet.ID})
			if err = c.setFixedIPs(ctx, who, p.ID, more); err == nil || !faults.Is(err, faults.NoCapacity) {
				return err
			}
		}
	}
	return err
}

// RemoveFixedIP takes an address from the port of a server that has it. Errors:
// NotFound (none has), Unavailable.
func (c *Caller) RemoveFixedIP(ctx context.Context, who identity.Identity, serverID, address string) error {
	ports, err := c.Interfaces(ctx, who, serverID)
	if err != nil {
		return err
	}
	for _, p := range ports {
		fewer := slices.DeleteFunc(slices.Clone(p.FixedIPs), func(ip compute.FixedIP) bool { return ip.Address == address })
		if len(fewer) < len(p.FixedIPs) {
			return c.setFixedIPs(ctx, who, p.ID, fewer)
		}
	}
	return faults.New(faults.NotFound, "NotFound", "no port of the server has the address %s", address)
}

func (c *Caller) setFixedIPs(ctx context.Context, who identity.Identity, portID string, addresses []compute.FixedIP) error {
	client, err := c.client(who, keystone.NewNetworkV2)
	if err != nil {
		return err
	}
	asked := []map[string]string{}
	for _, ip := range addresses {
		one := map[string]string{"subnet_id": ip.SubnetID}
		if ip.Address != "" {
			one["ip_address"] = ip.Address
		}
		asked = append(asked, one)
	}
	_, err = client.Put(ctx, client.ServiceURL("ports", portID), map[string]any{"port": map[string]any{"fixed_ips": asked}}, nil,
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	switch {
	case err == nil:
		return nil
	case gophercloud.ResponseCodeIs(err, http.StatusConflict):
		return faults.Wrap(err, faults.NoCapacity, "NoMoreFixedIps", "there is no address left")
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound), gophercloud.ResponseCodeIs(err, http.StatusForbidden),
		gophercloud.ResponseCodeIs(err, http.StatusBadRequest):
		return faults.Wrap(err, faults.NotFound, "NotFound", "the port's addresses can't be changed")
	}
	return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "a service that the request needs can't be reached")
}
