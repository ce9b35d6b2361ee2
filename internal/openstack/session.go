// Package openstack reaches the services beside Holdfast (Neutron, Cinder,
// Glance) in the name of the service user, through the catalog. The calls
// themselves are made by activities, with gophercloud.
package openstack

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/faults"
)

// CallTimeout bounds one request to a service, its answer included.
const CallTimeout = 30 * time.Second

// Options name the service user.
type Options struct {
	// AuthURL is Keystone's, "http://127.0.0.1:5000/v3"; empty is no session.
	AuthURL       string
	Username      string
	UserDomain    string
	Password      string
	Project       string
	ProjectDomain string
	Region        string
}

// Session is the service user's. It logs in at the first call, so a service
// that starts before Keystone starts, and again when its token ends.
type Session struct {
	options Options

	mu       sync.Mutex
	provider *gophercloud.ProviderClient
}

// NewSession makes no call.
func NewSession(o Options) *Session { return &Session{options: o} }

// Network gives a client of Neutron v2.0. Errors: Unavailable.
func (s *Session) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.client(ctx, "network", keystone.NewNetworkV2)
}

// Volume gives a client of Cinder v3 that speaks a microversion.
// Errors: Unavailable.
func (s *Session) Volume(ctx context.Context, microversion string) (*gophercloud.ServiceClient, error) {
	c, err := s.client(ctx, "volume", keystone.NewBlockStorageV3)
	if err == nil {
		c.Microversion = microversion
	}
	return c, err
}

// interfaces of the catalog, the preferred one first (Nova: valid_interfaces).
var interfaces = []gophercloud.Availability{gophercloud.AvailabilityInternal, gophercloud.AvailabilityPublic}

type newClient = func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)

func (s *Session) client(ctx context.Context, service string, make newClient) (*gophercloud.ServiceClient, error) {
	provider, err := s.login(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range interfaces {
		var c *gophercloud.ServiceClient
		if c, err = make(provider, gophercloud.EndpointOpts{Region: s.options.Region, Availability: i}); err == nil {
			return c, nil
		}
	}
	return nil, faults.Wrap(err, faults.Unavailable, "EndpointNotFound", "the catalog has no %s service", service)
}

// login gives the provider, which renews its token by itself.
func (s *Session) login(ctx context.Context) (*gophercloud.ProviderClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider != nil {
		return s.provider, nil
	}
	o := s.options
	if o.AuthURL == "" {
		return nil, faults.New(faults.Unavailable, "NoServiceUser", "no service user is configured (openstack.auth_url)")
	}
	provider, err := keystone.NewClient(o.AuthURL)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "InvalidConfiguration", "openstack.auth_url can't be used")
	}
	provider.HTTPClient = http.Client{Timeout: CallTimeout}
	err = keystone.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: o.AuthURL, Username: o.Username, Password: o.Password, DomainName: o.UserDomain, AllowReauth: true,
		Scope: &gophercloud.AuthScope{ProjectName: o.Project, DomainName: o.ProjectDomain},
	})
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "ServiceLoginFailed", "the service user can't log in")
	}
	s.provider = provider
	return provider, nil
}
