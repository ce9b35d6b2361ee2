package openstack

// Neutron: what nodes of the bare metal service have there.

import (
	"context"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/baremetal"
)

// NodePortOwner is device_owner of ports that are made for nodes' ramdisks, whose device_id
// is the node's, and NodePortKind binding:vnic_type of ports of machines.
const (
	NodePortOwner = "baremetal:none"
	NodePortKind  = "baremetal"
)

// NetworkID finds a network by its id or name; what is what the original calls it. Errors,
// in its words: Invalid (there is none, or there are several), Unavailable.
func NetworkID(ctx context.Context, neutron *gophercloud.ServiceClient, ident, what string) (string, error) {
	for _, by := range []string{"id", "name"} {
		var document struct{ Networks []struct{ ID string } }
		err := get(ctx, neutron, &document, "networks?"+url.Values{by: {ident}, "fields": {"id"}}.Encode())
		if err != nil && !faults.Is(err, faults.NotFound) {
			return "", faults.Wrap(err, faults.Unavailable, "NetworkError", "Could not retrieve network: %s", faults.As(err).Message)
		}
		switch found := document.Networks; {
		case len(found) == 1:
			return found[0].ID, nil
		case len(found) > 1:
			ids := make([]string, len(found))
			for i, n := range found {
				ids[i] = n.ID
			}
			return "", faults.New(faults.Invalid, "InvalidParameterValue", "More than one %s was found for name %s: %s", what, ident, strings.Join(ids, ", "))
		}
	}
	return "", faults.New(faults.Invalid, "InvalidParameterValue", "%s with name or UUID %s was not found", what, ident)
}

// HasNetwork says whether Neutron has one network of an id or name. Errors: as NetworkID.
func (s *Session) HasNetwork(ctx context.Context, ident, what string) error {
	neutron, err := s.Network(ctx)
	if err == nil {
		_, err = NetworkID(ctx, neutron, ident, what)
	}
	return err
}

// NodePorts lists the ports of all projects that were made for nodes, or are bound to what
// may be one. Errors: Unavailable.
func (s *Session) NodePorts(ctx context.Context) ([]baremetal.NetworkPort, error) {
	neutron, err := s.Network(ctx)
	if err != nil {
		return nil, err
	}
	type port struct {
		ID       string
		DeviceID string `json:"device_id"`
		Owner    string `json:"device_owner"`
		HostID   string `json:"binding:host_id"`
	}
	var found []baremetal.NetworkPort
	for by, value := range map[string]string{"device_owner": NodePortOwner, "binding:vnic_type": NodePortKind} {
		query := url.Values{by: {value}, "fields": {"id", "device_id", "device_owner", "binding:host_id"}, "sort_key": {"id"}, "sort_dir": {"asc"}}
		err := pages(ctx, neutron, "ports", neutron.ServiceURL("ports"), query, func(p port) string {
			switch made := p.Owner == NodePortOwner; {
			case made && by == "device_owner":
				found = append(found, baremetal.NetworkPort{ID: p.ID, NodeID: p.DeviceID})
			case !made && p.HostID != "":
				found = append(found, baremetal.NetworkPort{ID: p.ID, NodeID: p.HostID, Bound: true})
			}
			return p.ID
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
