package identity

// Whom a token belongs to.

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/policy"
)

// maxToken bounds a token's length in bytes; Keystone's own are far shorter.
const maxToken = 8 << 10

// serviceRole is the role that a service's token must have to count as one
// (keystone_authtoken/service_token_roles).
const serviceRole = "service"

// errUnauthorized is the text of Keystone's middleware.
var errUnauthorized = faults.New(faults.Unauthorized, "Unauthorized", "The request you have made requires authentication.")

// tokenHash stands for a token, which isn't kept as a key.
type tokenHash [sha256.Size]byte

// remembered is a valid token's identity and how long it is believed.
type remembered struct {
	identity Identity
	until    time.Time
}

// Authenticate says whom a token belongs to. Tokens that were valid lately are
// answered from memory; of several callers with one token, one asks Keystone.
// faults.Unauthorized: the token isn't valid. faults.Unavailable: that can't be
// found out now. Neither is remembered.
//
// Tokens of application credentials with access rules are refused, by Keystone
// itself, since they are only for servers that say they keep to such rules.
func (k *Keystone) Authenticate(ctx context.Context, token string) (Identity, error) {
	token = strings.TrimSpace(token)
	if token == "" || len(token) > maxToken {
		return Identity{}, errUnauthorized
	}
	key := tokenHash(sha256.Sum256([]byte(token)))
	if known, ok := k.known.GetIfPresent(key); ok && k.now().Before(known.until) {
		return known.identity, nil
	}
	// The call outlives a caller that goes: others wait for it.
	answer := k.asking.DoChan(string(key[:]), func() (any, error) { return k.validate(key, token) })
	select {
	case <-ctx.Done():
		return Identity{}, ctx.Err()
	case r := <-answer:
		if r.Err != nil {
			return Identity{}, r.Err
		}
		return r.Val.(Identity), nil
	}
}

// validate asks Keystone and remembers a valid answer.
func (k *Keystone) validate(key tokenHash, token string) (Identity, error) {
	ctx, cancel := context.WithTimeout(context.Background(), k.options.Timeout)
	defer cancel()
	if err := k.slots.Acquire(ctx, 1); err != nil {
		return Identity{}, unavailable(err)
	}
	defer k.slots.Release(1)
	identity, err := k.ask(ctx, token)
	switch {
	case faults.Is(err, faults.NotFound):
		return Identity{}, errUnauthorized
	case err != nil:
		k.options.Log.ErrorContext(ctx, "a token can't be checked", "error", err)
		return Identity{}, asUnavailable(err)
	}
	until := k.now().Add(k.options.CacheTime)
	if identity.ExpiresAt.Before(until) {
		until = identity.ExpiresAt
	}
	if !k.now().Before(until) {
		return Identity{}, errUnauthorized
	}
	k.known.Set(key, remembered{identity, until})
	return identity, nil
}

// ask is GET /v3/auth/tokens; faults.NotFound is Keystone's answer about a
// token that isn't valid.
func (k *Keystone) ask(ctx context.Context, token string) (Identity, error) {
	client, err := k.service.identity(ctx)
	if err != nil {
		return Identity{}, err
	}
	result := tokens.Get(ctx, client, token)
	if result.Err != nil {
		return Identity{}, fault(result.Err)
	}
	return read(result.Result, token)
}

// Forget drops what is remembered of a token, for one that was just revoked.
func (k *Keystone) Forget(token string) {
	k.known.Invalidate(tokenHash(sha256.Sum256([]byte(strings.TrimSpace(token)))))
}

// document is a token as Keystone shows it.
type document struct {
	ExpiresAt time.Time `json:"expires_at"`
	User      principal `json:"user"`
	Project   principal `json:"project"`
	Domain    named     `json:"domain"`
	System    struct {
		All bool `json:"all"`
	} `json:"system"`
	Roles          []named               `json:"roles"`
	IsAdminProject *bool                 `json:"is_admin_project"`
	Trust          named                 `json:"OS-TRUST:trust"`
	Catalog        []tokens.CatalogEntry `json:"catalog"`
}

type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// principal is a user or a project, with its domain.
type principal struct {
	named
	Domain named `json:"domain"`
}

// read makes an Identity of Keystone's answer.
func read(answer gophercloud.Result, token string) (Identity, error) {
	var d document
	if err := answer.ExtractIntoStructPtr(&d, "token"); err != nil {
		return Identity{}, unavailable(err)
	}
	if d.User.ID == "" || d.ExpiresAt.IsZero() {
		return Identity{}, faults.New(faults.Unavailable, "KeystoneUnavailable", "Keystone's answer about a token lacks its user or its end.")
	}
	who := Identity{
		Credentials: policy.Credentials{
			UserID: d.User.ID, UserName: d.User.Name, UserDomainID: d.User.Domain.ID, UserDomainName: d.User.Domain.Name,
			ProjectID: d.Project.ID, ProjectName: d.Project.Name, ProjectDomainID: d.Project.Domain.ID, ProjectDomainName: d.Project.Domain.Name,
			DomainID: d.Domain.ID, DomainName: d.Domain.Name,
			IsAdminProject: d.IsAdminProject == nil || *d.IsAdminProject,
		},
		Token:     token,
		ExpiresAt: d.ExpiresAt,
		TrustID:   d.Trust.ID,
		Catalog:   d.Catalog,
	}
	if d.System.All {
		who.SystemScope = "all"
	}
	for _, role := range d.Roles {
		who.Roles = append(who.Roles, role.Name)
	}
	return who, nil
}

// Through adds the service that passed the request on, as its own token
// (X-Service-Token) proves. A token without the role service is refused.
func (i Identity) Through(service Identity) (Identity, error) {
	if !slices.Contains(service.Roles, serviceRole) {
		return Identity{}, errUnauthorized
	}
	i.ServiceUserID, i.ServiceUserDomainID = service.UserID, service.UserDomainID
	i.ServiceProjectID, i.ServiceProjectDomainID = service.ProjectID, service.ProjectDomainID
	i.ServiceRoles = service.Roles
	return i, nil
}
