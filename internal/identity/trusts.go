package identity

// Trusts and application credentials: leave to act for a user later.

import (
	"context"
	"errors"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"

	"holdfast.dev/internal/faults"
)

// CreateTrust lets the service user act as the caller in the caller's project,
// with the given roles (by name; none: all that the caller has). It returns the
// trust's id. Not idempotent: a caller that may have been cut short looks for
// the trust among Trusts first, or has it be good until a time that no other is, and
// ends it by that.
func (k *Keystone) CreateTrust(ctx context.Context, who Identity, goodUntil time.Time, roles ...string) (string, error) {
	if who.ProjectID == "" {
		return "", faults.New(faults.Invalid, "NoProject", "A trust needs a token of a project.")
	}
	trustee, err := k.service.Identity(ctx)
	if err != nil {
		return "", err
	}
	if len(roles) == 0 {
		roles = who.Roles
	}
	options := trusts.CreateOpts{Impersonation: true, TrustorUserID: who.UserID, TrusteeUserID: trustee.UserID, ProjectID: who.ProjectID}
	if !goodUntil.IsZero() {
		options.ExpiresAt = &goodUntil
	}
	for _, role := range roles {
		options.Roles = append(options.Roles, trusts.Role{Name: role})
	}
	provider, err := k.For(who)
	if err != nil {
		return "", err
	}
	client, err := keystoneOf(provider)
	if err != nil {
		return "", err
	}
	trust, err := trusts.Create(ctx, client, options).Extract()
	if err != nil {
		return "", fault(err)
	}
	return trust.ID, nil
}

// Trusts gives the trusts that a user has given to the service user.
func (k *Keystone) Trusts(ctx context.Context, trustorID string) ([]trusts.Trust, error) {
	trustee, err := k.service.Identity(ctx)
	if err != nil {
		return nil, err
	}
	client, err := k.service.identity(ctx)
	if err != nil {
		return nil, err
	}
	pages, err := trusts.List(client, trusts.ListOpts{TrusteeUserID: trustee.UserID}).AllPages(ctx)
	if err != nil {
		return nil, fault(err)
	}
	all, err := trusts.ExtractTrusts(pages)
	if err != nil {
		return nil, unavailable(err)
	}
	var given []trusts.Trust
	for _, trust := range all {
		if trust.TrustorUserID == trustorID {
			given = append(given, trust)
		}
	}
	return given, nil
}

// DeleteTrustUntil ends the trusts of a user that are good until a time, of which
// seconds count: Keystone shows no more. That there is none is no error.
func (k *Keystone) DeleteTrustUntil(ctx context.Context, trustorID string, goodUntil time.Time) error {
	given, err := k.Trusts(ctx, trustorID)
	for _, trust := range given {
		if trust.ExpiresAt.Truncate(time.Second).Equal(goodUntil.Truncate(time.Second)) {
			err = errors.Join(err, k.DeleteTrust(ctx, trust.ID))
		}
	}
	return err
}

// DeleteTrust ends a trust. It acts by the trust itself, since only its trustor
// may; where the trust gives no more tokens, as the service user, who may if it
// is an administrator. One that is gone already is no error.
func (k *Keystone) DeleteTrust(ctx context.Context, trustID string) error {
	client, err := k.Trust(trustID).identity(ctx)
	if faults.Is(err, faults.Unauthorized) {
		client, err = k.service.identity(ctx)
		if err == nil {
			err = fault(trusts.Get(ctx, client, trustID).Err)
		}
	}
	if err == nil {
		err = fault(trusts.Delete(ctx, client, trustID).Err)
	}
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}

// CreateApplicationCredential gives the caller's own project an application
// credential with the caller's roles; its secret is shown this once.
func (k *Keystone) CreateApplicationCredential(ctx context.Context, who Identity, name string) (id, secret string, err error) {
	provider, err := k.For(who)
	if err != nil {
		return "", "", err
	}
	client, err := keystoneOf(provider)
	if err != nil {
		return "", "", err
	}
	made, err := applicationcredentials.Create(ctx, client, who.UserID, applicationcredentials.CreateOpts{Name: name}).Extract()
	if err != nil {
		return "", "", fault(err)
	}
	return made.ID, made.Secret, nil
}
