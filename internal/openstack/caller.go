package openstack

// What requests ask of Glance, Neutron and Cinder in the caller's own name, to
// refuse at once what can never be built.

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
)

// Caller asks the services with callers' own tokens, at the endpoints of their
// catalogs.
type Caller struct {
	// For gives a client that acts with a caller's token.
	For    func(identity.Identity) (*gophercloud.ProviderClient, error)
	Region string
}

// Image is what a build needs to know of an image.
type Image struct {
	ID     string
	Status string
	// MinDiskGB, MinRAMMB and SizeBytes are what it needs.
	MinDiskGB, MinRAMMB, SizeBytes int64
	// Properties are the image's own and its basic ones, as text.
	Properties map[string]string
}

// Port is a port of Neutron.
type Port struct {
	ID        string `json:"id"`
	NetworkID string `json:"network_id"`
	DeviceID  string `json:"device_id"`
	FixedIPs  []any  `json:"fixed_ips"`
}

// Network is a network of Neutron.
type Network struct {
	ID       string   `json:"id"`
	Subnets  []string `json:"subnets"`
	External bool     `json:"router:external"`
	Shared   bool     `json:"shared"`
	// AdminStateUp false takes no traffic.
	AdminStateUp bool   `json:"admin_state_up"`
	ProjectID    string `json:"tenant_id"`
}

// Image reads an image. Errors: NotFound, Unavailable.
func (c *Caller) Image(ctx context.Context, who identity.Identity, id string) (*Image, error) {
	client, err := c.client(who, keystone.NewImageV2)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := get(ctx, client, &document, "images", id); err != nil {
		return nil, err
	}
	return readImage(document), nil
}

// Network reads a network. Errors: NotFound, Unavailable.
func (c *Caller) Network(ctx context.Context, who identity.Identity, id string) (*Network, error) {
	var document struct{ Network Network }
	err := c.network(ctx, who, &document, "networks", id)
	return &document.Network, err
}

// Networks lists the networks that the caller's project may use: its own and
// shared ones, external ones left out.
func (c *Caller) Networks(ctx context.Context, who identity.Identity) ([]Network, error) {
	var document struct{ Networks []Network }
	if err := c.network(ctx, who, &document, "networks"); err != nil {
		return nil, err
	}
	var usable []Network
	for _, n := range document.Networks {
		if (n.ProjectID == who.ProjectID || n.Shared) && !n.External {
			usable = append(usable, n)
		}
	}
	return usable, nil
}

// CanAllocateNetwork asks whether Neutron would make a network for the caller's
// project. Errors: Invalid (code UnableToAutoAllocateNetwork), Unavailable.
func (c *Caller) CanAllocateNetwork(ctx context.Context, who identity.Identity) error {
	client, err := c.client(who, keystone.NewNetworkV2)
	if err != nil {
		return err
	}
	_, err = AllocatedNetwork(ctx, client, who.ProjectID, "?fields=dry-run")
	return err
}

// AllocatedNetwork is the id of the network that Neutron makes for a project which
// has none, or has made. Errors: Invalid (code UnableToAutoAllocateNetwork),
// Unavailable.
func AllocatedNetwork(ctx context.Context, client *gophercloud.ServiceClient, projectID, query string) (string, error) {
	var document struct {
		Topology struct{ ID string } `json:"auto_allocated_topology"`
	}
	answer, err := client.Get(ctx, client.ServiceURL("auto-allocated-topology", projectID)+query, &document, nil)
	if err == nil {
		return document.Topology.ID, nil
	}
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the error is told already
	}
	// A Neutron without this extension has no such path.
	if gophercloud.ResponseCodeIs(err, http.StatusConflict) || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return "", faults.Wrap(err, faults.Invalid, "UnableToAutoAllocateNetwork", "Unable to automatically allocate a network for project %s", projectID)
	}
	return "", faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "a service that the request needs can't be reached")
}

// Port reads a port. Errors: NotFound, Unavailable.
func (c *Caller) Port(ctx context.Context, who identity.Identity, id string) (*Port, error) {
	var document struct{ Port Port }
	err := c.network(ctx, who, &document, "ports", id)
	return &document.Port, err
}

// SecurityGroups gives the ids of the caller's project's groups by id and name.
func (c *Caller) SecurityGroups(ctx context.Context, who identity.Identity) (map[string]string, error) {
	var document struct {
		Groups []struct {
			ID, Name  string
			ProjectID string `json:"tenant_id"`
		} `json:"security_groups"`
	}
	if err := c.network(ctx, who, &document, "security-groups"); err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, g := range document.Groups {
		ids[g.ID] = g.ID
		if g.ProjectID == who.ProjectID {
			ids[g.Name] = g.ID
		}
	}
	return ids, nil
}

func (c *Caller) network(ctx context.Context, who identity.Identity, into any, path ...string) error {
	client, err := c.client(who, keystone.NewNetworkV2)
	if err != nil {
		return err
	}
	return get(ctx, client, into, path...)
}

func (c *Caller) client(who identity.Identity, open newClient) (*gophercloud.ServiceClient, error) {
	provider, err := c.For(who)
	if err != nil {
		return nil, err
	}
	provider.HTTPClient.Timeout = CallTimeout
	return endpoint(provider, c.Region, "service that the request needs", open)
}

// get reads a document; what may not be seen isn't there, and neither is an id
// that would lead elsewhere.
func get(ctx context.Context, client *gophercloud.ServiceClient, into any, path ...string) error {
	if id := path[len(path)-1]; id == "." || id == ".." {
		return faults.New(faults.NotFound, "NotFound", "there is no such %s", path[0])
	}
	answer, err := client.Get(ctx, client.ServiceURL(path...), into, nil)
	if err == nil {
		return nil
	}
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the error is told already
	}
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) || gophercloud.ResponseCodeIs(err, http.StatusForbidden) ||
		gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
		return faults.Wrap(err, faults.NotFound, "NotFound", "there is no such %s", path[0])
	}
	return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "a service that the request needs can't be reached")
}
