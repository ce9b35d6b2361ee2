package identity

// Sessions: logins that are made when needed and renewed when they end.

import (
	"context"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"holdfast.dev/internal/faults"
)

const (
	// renewBefore is how long before its end a session's token is replaced.
	renewBefore = time.Minute
	// loginPause is the least time between two failing logins of a session, so
	// that a wrong password isn't tried with every request.
	loginPause = time.Second
)

// Session is a login at Keystone. It is made at the first use, and made again
// when its token nears its end or is refused.
type Session struct {
	keystone *Keystone
	auth     gophercloud.AuthOptions

	// turn is held by whoever logs in or looks at what follows.
	turn     chan struct{}
	provider *gophercloud.ProviderClient
	failed   error
	again    time.Time // no login before
}

func (k *Keystone) session(auth gophercloud.AuthOptions) *Session {
	auth.IdentityEndpoint = k.options.AuthURL
	auth.AllowReauth = true
	return &Session{keystone: k, auth: auth, turn: make(chan struct{}, 1)}
}

// Service is the session of Holdfast's own user.
func (k *Keystone) Service() *Session { return k.service }

// Trust is a session of the service user that acts by a trust, for its trustor.
func (k *Keystone) Trust(trustID string) *Session {
	return k.session(gophercloud.AuthOptions{
		Username: k.options.Username, Password: k.options.Password, DomainName: k.options.UserDomain,
		Scope: &gophercloud.AuthScope{TrustID: trustID},
	})
}

// InProject is a session of the service user in another project.
func (k *Keystone) InProject(projectID string) *Session {
	return k.session(gophercloud.AuthOptions{
		Username: k.options.Username, Password: k.options.Password, DomainName: k.options.UserDomain,
		Scope: &gophercloud.AuthScope{ProjectID: projectID},
	})
}

// ApplicationCredential is a session by an application credential.
func (k *Keystone) ApplicationCredential(id, secret string) *Session {
	return k.session(gophercloud.AuthOptions{ApplicationCredentialID: id, ApplicationCredentialSecret: secret})
}

// Password is a session of another user in a project, both by id.
func (k *Keystone) Password(userID, password, projectID string) *Session {
	return k.session(gophercloud.AuthOptions{UserID: userID, Password: password, Scope: &gophercloud.AuthScope{ProjectID: projectID}})
}

// Provider gives the session's client for gophercloud's services: it finds them
// in the session's catalog and renews its token. How long a call may take is the
// caller's to say, by its context. faults.Unauthorized: Keystone refuses the
// login.
func (s *Session) Provider(ctx context.Context) (*gophercloud.ProviderClient, error) {
	own, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	provider, err := s.keystone.newClient(s.keystone.services)
	if err != nil {
		return nil, err
	}
	provider.SetToken(own.Token())
	provider.EndpointLocator = own.EndpointLocator
	provider.ReauthFunc = func(ctx context.Context) error {
		if err := own.Reauthenticate(ctx, provider.Token()); err != nil {
			return err
		}
		provider.SetToken(own.Token())
		return nil
	}
	return provider, nil
}

// client is the session's client of Keystone.
func (s *Session) client(ctx context.Context) (*gophercloud.ProviderClient, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	if s.provider != nil {
		return s.provider, nil
	}
	if s.keystone.now().Before(s.again) {
		return nil, s.failed
	}
	provider, err := s.login(ctx)
	if err != nil {
		s.failed, s.again = err, s.keystone.now().Add(loginPause)
		return nil, err
	}
	s.provider = provider
	return provider, nil
}

func (s *Session) login(ctx context.Context) (*gophercloud.ProviderClient, error) {
	provider, err := s.keystone.newClient(s.keystone.http)
	if err != nil {
		return nil, err
	}
	provider.ReauthBeforeTokenExpiration = renewBefore
	if err := openstack.AuthenticateV3(ctx, provider, &s.auth, gophercloud.EndpointOpts{}); err != nil {
		return nil, fault(err)
	}
	return provider, nil
}

// newClient is a client without a token.
func (k *Keystone) newClient(over http.Client) (*gophercloud.ProviderClient, error) {
	provider, err := openstack.NewClient(k.options.AuthURL)
	if err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "InvalidConfiguration", "%q is no URL of Keystone", k.options.AuthURL)
	}
	provider.HTTPClient = over
	provider.UserAgent.Prepend("holdfast")
	return provider, nil
}

// identity is the session's client of Keystone itself, at the configured
// address whatever the catalog says.
func (s *Session) identity(ctx context.Context) (*gophercloud.ServiceClient, error) {
	provider, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	return keystoneOf(provider)
}

func keystoneOf(provider *gophercloud.ProviderClient) (*gophercloud.ServiceClient, error) {
	client, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		return nil, faults.Wrap(err, faults.Internal, "KeystoneClient", "the client of Keystone can't be made")
	}
	return client, nil
}

// Token is a token of the session that Keystone takes now.
func (s *Session) Token(ctx context.Context) (string, error) {
	provider, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	return provider.AuthenticatedHeaders()["X-Auth-Token"], nil
}

// Identity is whom the session acts as.
func (s *Session) Identity(ctx context.Context) (Identity, error) {
	token, err := s.Token(ctx)
	if err != nil {
		return Identity{}, err
	}
	return s.keystone.Authenticate(ctx, token)
}

// For gives a client that acts with a caller's own token, as long as that
// lasts. It finds endpoints in the token's catalog.
func (k *Keystone) For(who Identity) (*gophercloud.ProviderClient, error) {
	provider, err := k.newClient(k.services)
	if err != nil {
		return nil, err
	}
	provider.SetToken(who.Token)
	catalog := &tokens.ServiceCatalog{Entries: who.Catalog}
	provider.EndpointLocator = func(o gophercloud.EndpointOpts) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), k.options.Timeout)
		defer cancel()
		return openstack.V3Endpoint(ctx, provider, catalog, o)
	}
	return provider, nil
}
