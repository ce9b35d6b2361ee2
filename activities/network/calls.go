package network

// The calls that are made, each with what is read of the answer.

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/baremetal"
)

const (
	// vnicSmart is binding:vnic_type of ports of interfaces that have a switch of their own.
	vnicSmart = "smart-nic"
	// vifBindingFailed is binding:vif_type of a port that no mechanism could bind, and
	// active the status of one that is plugged.
	vifBindingFailed = "binding_failed"
	active           = "ACTIVE"
)

// port is what is read of one.
type port struct {
	ID        string         `json:"id"`
	NetworkID string         `json:"network_id"`
	Owner     string         `json:"device_owner"`
	Status    string         `json:"status"`
	MAC       string         `json:"mac_address"`
	HostID    string         `json:"binding:host_id"`
	VNICType  string         `json:"binding:vnic_type"`
	VIFType   string         `json:"binding:vif_type"`
	Profile   map[string]any `json:"binding:profile"`
	// Options are what is told by DHCP.
	Options  []nodes.DHCPOption `json:"extra_dhcp_opts"`
	FixedIPs []struct {
		SubnetID string `json:"subnet_id"`
	} `json:"fixed_ips"`
}

// has says whether the port is bound as it should be.
func (p *port) has(to attributes) bool {
	if p.HostID != to["binding:host_id"] || p.VNICType != to["binding:vnic_type"] {
		return false
	}
	want, told := to["binding:profile"]
	if !told {
		return true
	}
	one, err := json.Marshal(p.Profile)
	other, failed := json.Marshal(want)
	return err == nil && failed == nil && bytes.Equal(one, other)
}

// network is what is read of one.
type network struct {
	ID       string    `json:"id"`
	Physical string    `json:"provider:physical_network"`
	Segments []segment `json:"segments"`
}

type segment struct {
	Physical string `json:"provider:physical_network"`
}

// attributes are what a port is made of, or changed to.
type attributes map[string]any

// calls are made one after the other, each when nobody else is at the node.
type calls struct {
	client *gophercloud.ServiceClient
	before func(context.Context) error
}

// callTimeout bounds a call that is not cut short by a cancel.
const callTimeout = openstack.CallTimeout

func (c *calls) get(ctx context.Context, into any, query url.Values, path ...string) error {
	if err := c.before(ctx); err != nil {
		return err
	}
	address := c.client.ServiceURL(path...)
	if query != nil {
		address += "?" + query.Encode()
	}
	_, err := c.client.Get(ctx, address, into, nil)
	return fault(err)
}

// change makes a call whose end somebody has to know, be the step cancelled or not.
func (c *calls) change(ctx context.Context, do func(context.Context) (*http.Response, error)) error {
	if err := c.before(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, err := do(ctx)
	return fault(err)
}

// ports lists those that a query finds.
func (c *calls) ports(ctx context.Context, query url.Values) (all []*port, err error) {
	var document struct{ Ports []*port }
	err = c.get(ctx, &document, query, "ports")
	return document.Ports, err
}

// port reads one. What some word of a client's names that is no id isn't there. Errors:
// NotFound.
func (c *calls) port(ctx context.Context, id string) (*port, error) {
	if !baremetal.IsUUID(id) {
		return nil, faults.New(faults.NotFound, CodeNetworkError, "there is no port %s", id)
	}
	var document struct{ Port port }
	err := c.get(ctx, &document, nil, "ports", id)
	return &document.Port, err
}

func (c *calls) create(ctx context.Context, of attributes) (*port, error) {
	var document struct{ Port port }
	err := c.change(ctx, func(ctx context.Context) (*http.Response, error) {
		return c.client.Post(ctx, c.client.ServiceURL("ports"), map[string]any{"port": of}, &document, nil)
	})
	return &document.Port, err
}

// update changes a port.
func (c *calls) update(ctx context.Context, id string, to attributes) (*port, error) {
	var document struct{ Port port }
	err := c.change(ctx, func(ctx context.Context) (*http.Response, error) {
		return c.client.Put(ctx, c.client.ServiceURL("ports", id), map[string]any{"port": to}, &document, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	})
	return &document.Port, err
}

// remove deletes a port; one that is gone is success.
func (c *calls) remove(ctx context.Context, id string) error {
	err := c.change(ctx, func(ctx context.Context) (*http.Response, error) {
		return c.client.Delete(ctx, c.client.ServiceURL("ports", id), nil)
	})
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}

// release takes a port off its host, by a change that says what else it is to be; it gets a
// hardware address of its own again, since Neutron has each once in a network. One that is
// gone is success.
func (c *calls) release(ctx context.Context, id string, to attributes, keepsAddress bool) error {
	// Neutron changes the address of no port that is bound.
	to["binding:host_id"], to["binding:profile"] = "", map[string]any{}
	_, err := c.update(ctx, id, to)
	if err == nil && !keepsAddress {
		_, err = c.update(ctx, id, attributes{"mac_address": nil})
	}
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}
