package keystone

// A world at an identity service: a domain, a project, users, the service user,
// all with names of their own.

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
)

// server is an identity service with its administrator: user and project
// "admin" of the domain "Default".
type server struct{ url, password string }

// password is every user's that a test makes.
const password = "s3cret-of-tests"

// world is what a case has to itself.
type world struct {
	t        *testing.T
	server   server
	admin    *gophercloud.ServiceClient
	keystone *identity.Keystone
	project  *projects.Project
	user     *users.User // a member of project
	roles    map[string]string
}

func (s server) world(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: s, roles: map[string]string{}}
	w.admin = w.login(gophercloud.AuthOptions{Username: "admin", Password: s.password, DomainName: "Default",
		Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainName: "Default"}})
	all, err := roles.List(w.admin, nil).AllPages(t.Context())
	w.must(err)
	known, err := roles.ExtractRoles(all)
	w.must(err)
	for _, role := range known {
		w.roles[role.Name] = role.ID
	}
	w.project = w.newProject("default")
	w.user = w.newUser("default", "member")
	service := w.newUser("default", "service")
	w.keystone = w.newKeystone(service.Name)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func unique(prefix string) string { return prefix + "-" + uuid.NewString()[:8] }

func (w *world) newProject(domain string) *projects.Project {
	w.t.Helper()
	project, err := projects.Create(w.t.Context(), w.admin, projects.CreateOpts{Name: unique("project"), DomainID: domain}).Extract()
	w.must(err)
	w.cleanup(func(ctx context.Context) error { return projects.Delete(ctx, w.admin, project.ID).ExtractErr() })
	return project
}

// newUser makes a user with roles on the world's project.
func (w *world) newUser(domain string, roles ...string) *users.User {
	w.t.Helper()
	user, err := users.Create(w.t.Context(), w.admin, users.CreateOpts{Name: unique("user"), DomainID: domain, Password: password}).Extract()
	w.must(err)
	w.cleanup(func(ctx context.Context) error { return users.Delete(ctx, w.admin, user.ID).ExtractErr() })
	for _, role := range roles {
		w.assign(user.ID, role)
	}
	return user
}

func (w *world) assign(userID, role string) {
	w.t.Helper()
	if w.roles[role] == "" {
		w.t.Fatalf("the identity service has no role %s", role)
	}
	w.must(roles.Assign(w.t.Context(), w.admin, w.roles[role], roles.AssignOpts{UserID: userID, ProjectID: w.project.ID}).ExtractErr())
}

// cleanup runs at the test's end; what a test deleted itself may be gone.
func (w *world) cleanup(remove func(context.Context) error) {
	w.t.Cleanup(func() {
		if err := remove(context.Background()); err != nil && !gophercloud.ResponseCodeIs(err, 404) {
			w.t.Error(err)
		}
	})
}

// newKeystone makes what is tested, with nothing remembered.
func (w *world) newKeystone(serviceUser string) *identity.Keystone {
	w.t.Helper()
	k, err := identity.New(identity.Options{
		AuthURL: w.server.url, Username: serviceUser, Password: password, UserDomain: "Default",
		Project: w.project.Name, ProjectDomain: "Default",
		Timeout: 30 * time.Second, CacheTime: time.Minute, CacheSize: 100, Log: slog.New(slog.DiscardHandler),
	})
	w.must(err)
	return k
}

// login makes a client of the identity service.
func (w *world) login(o gophercloud.AuthOptions) *gophercloud.ServiceClient {
	w.t.Helper()
	client, err := w.tryLogin(o)
	w.must(err)
	return client
}

func (w *world) tryLogin(o gophercloud.AuthOptions) (*gophercloud.ServiceClient, error) {
	o.IdentityEndpoint = w.server.url
	provider, err := openstack.NewClient(w.server.url)
	w.must(err)
	if err := openstack.AuthenticateV3(w.t.Context(), provider, &o, gophercloud.EndpointOpts{}); err != nil {
		return nil, err
	}
	return openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
}

// inProject is the user's own login.
func (w *world) inProject(userID string) gophercloud.AuthOptions {
	return gophercloud.AuthOptions{UserID: userID, Password: password, Scope: &gophercloud.AuthScope{ProjectID: w.project.ID}}
}

// token is a token of a login.
func (w *world) token(o gophercloud.AuthOptions) string {
	w.t.Helper()
	return w.login(o).Token()
}

// who is whom a token belongs to.
func (w *world) who(token string) identity.Identity {
	w.t.Helper()
	who, err := w.keystone.Authenticate(w.t.Context(), token)
	w.must(err)
	return who
}

// want compares the credentials, roles in any order.
func (w *world) want(got identity.Identity, want policy.Credentials) {
	w.t.Helper()
	slices.Sort(got.Roles)
	slices.Sort(want.Roles)
	if !slices.Equal(got.Roles, want.Roles) {
		w.t.Errorf("roles %v, want %v", got.Roles, want.Roles)
	}
	for _, c := range []struct{ name, got, want string }{
		{"user", got.UserID, want.UserID}, {"user's name", got.UserName, want.UserName},
		{"user's domain", got.UserDomainID, want.UserDomainID}, {"name of the user's domain", got.UserDomainName, want.UserDomainName},
		{"project", got.ProjectID, want.ProjectID}, {"project's name", got.ProjectName, want.ProjectName},
		{"project's domain", got.ProjectDomainID, want.ProjectDomainID}, {"name of the project's domain", got.ProjectDomainName, want.ProjectDomainName},
		{"domain", got.DomainID, want.DomainID}, {"system scope", got.SystemScope, want.SystemScope},
	} {
		if c.got != c.want {
			w.t.Errorf("%s %q, want %q", c.name, c.got, c.want)
		}
	}
	if !got.IsAdminProject || got.IsAdmin {
		w.t.Errorf("admin project %v, administrator %v", got.IsAdminProject, got.IsAdmin)
	}
}

// member is the world's user in its project.
func (w *world) member() policy.Credentials {
	return policy.Credentials{
		UserID: w.user.ID, UserName: w.user.Name, UserDomainID: "default", UserDomainName: "Default",
		ProjectID: w.project.ID, ProjectName: w.project.Name, ProjectDomainID: "default", ProjectDomainName: "Default",
		Roles: []string{"member", "reader"},
	}
}

// revoke ends a token, as the administrator.
func (w *world) revoke(token string) {
	w.t.Helper()
	w.must(tokens.Revoke(w.t.Context(), w.admin, token).Err)
}
