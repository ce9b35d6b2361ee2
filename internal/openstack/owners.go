package openstack

// The owners of stacks: services asked in their names.

import (
	"context"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/identity"
)

// Owners gives clients that act for the owners of stacks: by the trust that one has
// given, or without one as the service user in the owner's project.
type Owners struct {
	Keystone *identity.Keystone
	Region   string

	mu       sync.Mutex
	sessions map[string]*identity.Session
}

// maxSessions bounds the logins that are kept.
const maxSessions = 256

// openers are the clients of services by their types in the catalog.
var openers = map[string]newClient{
	"network":       keystone.NewNetworkV2,
	"compute":       keystone.NewComputeV2,
	"block-storage": keystone.NewBlockStorageV3,
	"image":         keystone.NewImageV2,
	"identity":      keystone.NewIdentityV3,
	"object-store":  keystone.NewObjectStorageV1,
	"dns":           keystone.NewDNSV2,
	"load-balancer": keystone.NewLoadBalancerV2,
	"key-manager":   keystone.NewKeyManagerV1,
}

// Client gives a client of a service. Errors: Unavailable, Unauthorized.
func (o *Owners) Client(ctx context.Context, projectID, trustID, service string) (*gophercloud.ServiceClient, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	provider, err := o.session(projectID, trustID).Provider(ctx)
	if err != nil {
		return nil, err
	}
	provider.HTTPClient.Timeout = CallTimeout
	open := openers[service]
	if open == nil {
		open = func(p *gophercloud.ProviderClient, eo gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error) {
			return otherService(p, eo, service)
		}
	}
	return endpoint(provider, o.Region, service+" service", open)
}

// otherService is a client of a service that nothing more is known of.
func otherService(provider *gophercloud.ProviderClient, eo gophercloud.EndpointOpts, service string) (*gophercloud.ServiceClient, error) {
	eo.ApplyDefaults(service)
	address, err := provider.EndpointLocator(eo)
	if err != nil {
		return nil, err
	}
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: gophercloud.NormalizeURL(address), Type: service}, nil
}

func (o *Owners) session(projectID, trustID string) *identity.Session {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := projectID + " " + trustID
	s := o.sessions[key]
	if s != nil {
		return s
	}
	if o.sessions == nil || len(o.sessions) >= maxSessions {
		o.sessions = map[string]*identity.Session{}
	}
	if trustID != "" {
		s = o.Keystone.Trust(trustID)
	} else {
		s = o.Keystone.InProject(projectID)
	}
	o.sessions[key] = s
	return s
}
