package identity

// Users that stacks have made, in a domain of such users.

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"holdfast.dev/internal/faults"
)

// StackUser is the role of users that stacks have made: of those who are nobody else.
const StackUser = "heat_stack_user"

// StackDomain is the domain of the users that stacks make, by its id or its name, and
// whoever administers it.
type StackDomain struct{ ID, Name, Admin, Password string }

// StackUsers makes users and projects in that domain, and takes them away. Each is
// found by its name in the domain: what is there is not made twice, and what is gone is
// no error.
type StackUsers struct {
	session *Session
	domain  StackDomain
}

// StackUsers gives them. Nobody is asked yet.
func (k *Keystone) StackUsers(d StackDomain) *StackUsers {
	scope := &gophercloud.AuthScope{DomainID: d.ID}
	auth := gophercloud.AuthOptions{Username: d.Admin, Password: d.Password, DomainID: d.ID, Scope: scope}
	if d.ID == "" {
		auth.DomainName, scope.DomainName = d.Name, d.Name
	}
	return &StackUsers{k.session(auth), d}
}

// client is the domain's administrator, and the domain's id.
func (u *StackUsers) client(ctx context.Context) (*gophercloud.ServiceClient, string, error) {
	client, err := u.session.identity(ctx)
	if faults.Is(err, faults.Unauthorized) {
		err = faults.Wrap(err, faults.Unauthorized, "AuthorizationFailure", "Authorization failed.")
	}
	if err != nil || u.domain.ID != "" {
		return client, u.domain.ID, err
	}
	who, err := u.session.Identity(ctx)
	return client, who.DomainID, err
}

// Domain is the id of the domain.
func (u *StackUsers) Domain(ctx context.Context) (string, error) {
	_, domain, err := u.client(ctx)
	return domain, err
}

// Project gives the project of a name.
func (u *StackUsers) Project(ctx context.Context, name string) (id string, err error) {
	client, domain, err := u.client(ctx)
	if err != nil {
		return "", err
	}
	made, err := projects.Create(ctx, client, projects.CreateOpts{Name: name, DomainID: domain, Description: "Heat stack user project"}).Extract()
	if gophercloud.ResponseCodeIs(err, 409) {
		return there(findProject(ctx, client, domain, name))
	}
	if err != nil {
		return "", fault(err)
	}
	return made.ID, nil
}

// there is the id of what was said to be there a moment ago.
func there(id string, err error) (string, error) {
	if err == nil && id == "" {
		err = faults.New(faults.Unavailable, "ServiceUnavailable", "what Keystone says is there can't be found")
	}
	return id, err
}

// findProject gives the id of the project of a name; empty if there is none.
func findProject(ctx context.Context, client *gophercloud.ServiceClient, domain, name string) (string, error) {
	pages, err := projects.List(client, projects.ListOpts{Name: name, DomainID: domain}).AllPages(ctx)
	if err != nil {
		return "", fault(err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil {
		return "", unavailable(err)
	}
	for _, p := range all {
		if p.Name == name && p.DomainID == domain {
			return p.ID, nil
		}
	}
	return "", nil
}

// EndProject takes a project away, by its id or, where that isn't known, its name. One
// of another domain is left.
func (u *StackUsers) EndProject(ctx context.Context, name, id string) error {
	client, domain, err := u.client(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		if id, err = findProject(ctx, client, domain, name); err != nil || id == "" {
			return err
		}
	}
	p, err := projects.Get(ctx, client, id).Extract()
	if err == nil && p.DomainID == domain {
		err = projects.Delete(ctx, client, id).Err
	}
	return goneOr(fault(err))
}

func goneOr(err error) error {
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}

// maxUserName is how much of a name Keystone takes: the end of it.
const maxUserName = 255

func userName(name string) string {
	return strings.ToValidUTF8(name[max(len(name)-maxUserName, 0):], "")
}

// User gives the user of a name, with a password, as one of a project.
func (u *StackUsers) User(ctx context.Context, name, password, projectID string) (id string, err error) {
	client, domain, err := u.client(ctx)
	if err != nil {
		return "", err
	}
	role, err := stackUserRole(ctx, client)
	if err != nil {
		return "", err
	}
	made, err := users.Create(ctx, client, users.CreateOpts{Name: userName(name), Password: password, DomainID: domain, DefaultProjectID: projectID,
		Options: map[users.Option]any{"ignore_change_password_upon_first_use": true, "ignore_password_expiry": true, "ignore_lockout_failure_attempts": true}}).Extract()
	switch {
	case gophercloud.ResponseCodeIs(err, 409):
		if id, err = there(findUser(ctx, client, domain, name)); err != nil {
			return "", err
		}
	case err != nil:
		return "", fault(err)
	default:
		id = made.ID
	}
	return id, fault(roles.Assign(ctx, client, role, roles.AssignOpts{UserID: id, ProjectID: projectID}).Err)
}

// stackUserRole is the id of the role of such users.
func stackUserRole(ctx context.Context, client *gophercloud.ServiceClient) (string, error) {
	pages, err := roles.List(client, roles.ListOpts{Name: StackUser}).AllPages(ctx)
	if err != nil {
		return "", fault(err)
	}
	all, err := roles.ExtractRoles(pages)
	if err != nil {
		return "", unavailable(err)
	}
	if len(all) != 1 {
		return "", faults.New(faults.Invalid, "Error", "Can't find role %s", StackUser)
	}
	return all[0].ID, nil
}

// findUser gives the id of the user of a name; empty if there is none.
func findUser(ctx context.Context, client *gophercloud.ServiceClient, domain, name string) (string, error) {
	pages, err := users.List(client, users.ListOpts{Name: userName(name), DomainID: domain}).AllPages(ctx)
	if err != nil {
		return "", fault(err)
	}
	all, err := users.ExtractUsers(pages)
	if err != nil {
		return "", unavailable(err)
	}
	for _, one := range all {
		if one.Name == userName(name) && one.DomainID == domain {
			return one.ID, nil
		}
	}
	return "", nil
}

// Key gives a user a key pair for signatures in a project, which is the caller's to
// choose.
func (u *StackUsers) Key(ctx context.Context, userID, projectID, access, secret string) error {
	client, _, err := u.client(ctx)
	if err != nil {
		return err
	}
	blob, err := json.Marshal(map[string]string{"access": access, "secret": secret})
	if err != nil {
		return faults.Wrap(err, faults.Internal, "InternalError", "a key can't be written")
	}
	err = credentials.Create(ctx, client, credentials.CreateOpts{UserID: userID, ProjectID: projectID, Type: "ec2", Blob: string(blob)}).Err
	if gophercloud.ResponseCodeIs(err, 409) {
		return nil // the credential is named by its access key
	}
	return fault(err)
}

// Enable lets a user log in, or not.
func (u *StackUsers) Enable(ctx context.Context, userID string, enabled bool) error {
	client, err := u.own(ctx, userID)
	if err != nil {
		return err
	}
	return fault(users.Update(ctx, client, userID, users.UpdateOpts{Enabled: &enabled}).Err)
}

// own is the client for what is done to a user, who must be one of the domain.
func (u *StackUsers) own(ctx context.Context, userID string) (*gophercloud.ServiceClient, error) {
	client, domain, err := u.client(ctx)
	if err != nil {
		return nil, err
	}
	user, err := users.Get(ctx, client, userID).Extract()
	if err == nil && user.DomainID != domain {
		return nil, faults.New(faults.Invalid, "ValueError", "User %s is in another domain", userID)
	}
	return client, fault(err)
}

// EndUser takes a user away, and with it its keys, by its id or, where that isn't
// known, its name.
func (u *StackUsers) EndUser(ctx context.Context, name, id string) error {
	client, domain, err := u.client(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		if id, err = findUser(ctx, client, domain, name); err != nil || id == "" {
			return err
		}
	}
	if client, err = u.own(ctx, id); err == nil {
		err = fault(users.Delete(ctx, client, id).Err)
	}
	return goneOr(err)
}
