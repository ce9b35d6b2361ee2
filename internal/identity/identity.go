package identity

import (
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"holdfast.dev/internal/policy"
)

// Identity is what a token proves: the credentials that policies judge, and
// what is needed to act for them elsewhere.
type Identity struct {
	policy.Credentials

	// Token is the caller's own; calls made for the caller carry it. It is
	// never stored or logged.
	Token string
	// ExpiresAt is when the token ends; zero for one that doesn't.
	ExpiresAt time.Time
	// TrustID is the trust that the token was made with, if any.
	TrustID string
	// Catalog is the token's own: where the services are.
	Catalog []tokens.CatalogEntry
}

// Scope is the project whose things the identity may see; "" is every project.
func (i Identity) Scope() string {
	if i.IsAdmin {
		return ""
	}
	return i.ProjectID
}
