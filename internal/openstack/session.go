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

// maxProjects bounds the logins that are kept.
const maxProjects = 256

// VolumeMicroversion has attachments that are completed; it is the least that
// Nova takes.
const VolumeMicroversion = "3.44"

// Session is the service user's. It logs in at the first call, so a service
// that starts before Keystone starts, and again when a token ends.
type Session struct {
	options Options

	mu sync.Mutex
	// providers are the logins by project id; "" is the service user's own.
	providers map[string]*gophercloud.ProviderClient
}

// NewSession makes no call.
func NewSession(o Options) *Session {
	return &Session{options: o, providers: map[string]*gophercloud.ProviderClient{}}
}

// Network gives a client of Neutron v2.0. Errors: Unavailable.
func (s *Session) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.client(ctx, "", "network", keystone.NewNetworkV2)
}

// BareMetal gives a client of Ironic v1. Errors: Unavailable.
func (s *Session) BareMetal(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.client(ctx, "", "bare metal", keystone.NewBareMetalV1)
}

// Volume gives a client of Cinder v3 that acts in a project: what it makes is
// the project's and counts in its quota. The service user needs the roles member
// and service there, by inheritance from the domain for example. Errors:
// Unavailable.
func (s *Session) Volume(ctx context.Context, projectID string) (*gophercloud.ServiceClient, error) {
	c, err := s.client(ctx, projectID, "block storage", keystone.NewBlockStorageV3)
	if err != nil {
		return nil, err
	}
	c.Microversion = VolumeMicroversion
	return c, nil
}

// interfaces of the catalog, the preferred one first (Nova: valid_interfaces).
var interfaces = []gophercloud.Availability{gophercloud.AvailabilityInternal, gophercloud.AvailabilityPublic}

// CodeNoEndpoint is the code of a fault that says that the catalog lacks a service.
const CodeNoEndpoint = "EndpointNotFound"

type newClient = func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)

func (s *Session) client(ctx context.Context, projectID, service string, open newClient) (*gophercloud.ServiceClient, error) {
	provider, err := s.login(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return endpoint(provider, s.options.Region, service+" service", open)
}

// endpoint opens a client of a service by the first of the interfaces by which the
// catalog has it; what names it to who is told that it has none. Errors: Unavailable.
func endpoint(provider *gophercloud.ProviderClient, region, what string, open newClient) (client *gophercloud.ServiceClient, err error) {
	for _, i := range interfaces {
		if client, err = open(provider, gophercloud.EndpointOpts{Region: region, Availability: i}); err == nil {
			return client, nil
		}
	}
	return nil, faults.Wrap(err, faults.Unavailable, CodeNoEndpoint, "the catalog has no %s", what)
}

// login gives the provider of a project, which renews its token by itself.
// Keystone is asked without the lock, so that it holds up nobody else.
func (s *Session) login(ctx context.Context, projectID string) (*gophercloud.ProviderClient, error) {
	s.mu.Lock()
	provider := s.providers[projectID]
	s.mu.Unlock()
	if provider != nil {
		return provider, nil
	}
	provider, err := s.authenticate(ctx, projectID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.providers) >= maxProjects {
		clear(s.providers)
	}
	s.providers[projectID] = provider
	return provider, nil
}

func (s *Session) authenticate(ctx context.Context, projectID string) (*gophercloud.ProviderClient, error) {
	o := s.options
	if o.AuthURL == "" {
		return nil, faults.New(faults.Unavailable, "NoServiceUser", "no service user is configured (openstack.auth_url)")
	}
	scope := &gophercloud.AuthScope{ProjectName: o.Project, DomainName: o.ProjectDomain}
	if projectID != "" {
		scope = &gophercloud.AuthScope{ProjectID: projectID}
	}
	provider, err := keystone.NewClient(o.AuthURL)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "InvalidConfiguration", "openstack.auth_url can't be used")
	}
	provider.UseTokenLock()
	provider.HTTPClient = http.Client{Timeout: CallTimeout, Transport: asService{http.DefaultTransport}}
	err = keystone.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: o.AuthURL, Username: o.Username, Password: o.Password, DomainName: o.UserDomain, AllowReauth: true, Scope: scope,
	})
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "ServiceLoginFailed", "the service user can't log in")
	}
	return provider, nil
}

// asService says with every request that a service asks, in nobody's name:
// Cinder lets only a service take a server off its volumes (Nova:
// service_user/send_service_user_token). The token is the request's own, so that
// both end together.
type asService struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t asService) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("X-Service-Token", token)
	}
	return t.RoundTripper.RoundTrip(r)
}
