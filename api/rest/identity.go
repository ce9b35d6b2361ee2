package rest

// Who asks.

import (
	"context"
	"crypto/sha256"
	"slices"

	"holdfast.dev/internal/faults"
)

// Identity is what a token proves.
type Identity struct {
	UserID    string
	ProjectID string
	Roles     []string
	// IsAdmin says that the roles make an administrator of the whole cloud.
	IsAdmin bool
}

// Scope is the project whose things the identity may see; "" is every project.
func (i Identity) Scope() string {
	if i.IsAdmin {
		return ""
	}
	return i.ProjectID
}

// Authenticator says whom a token belongs to.
type Authenticator interface {
	// Authenticate gives the token's identity: faults.Unauthorized for a token
	// that isn't valid, faults.Unavailable if that can't be found out now.
	Authenticate(ctx context.Context, token string) (Identity, error)
}

// errUnauthorized is the text of Keystone's middleware.
var errUnauthorized = faults.New(faults.Unauthorized, "Unauthorized", "The request you have made requires authentication.")

// StaticTokens is an Authenticator for the development cloud and tests: a fixed
// set of tokens, no expiry, no revocation. It holds their hashes, and looks a
// token up by its hash, so the time taken tells nothing of a near miss.
type StaticTokens struct {
	identities map[[sha256.Size]byte]Identity
}

// NewStaticTokens makes one; the map is by token. The role "admin" makes an
// administrator.
func NewStaticTokens(tokens map[string]Identity) *StaticTokens {
	s := &StaticTokens{identities: map[[sha256.Size]byte]Identity{}}
	for token, identity := range tokens {
		identity.IsAdmin = slices.Contains(identity.Roles, "admin")
		s.identities[sha256.Sum256([]byte(token))] = identity
	}
	return s
}

// Authenticate implements Authenticator.
func (s *StaticTokens) Authenticate(_ context.Context, token string) (Identity, error) {
	identity, ok := s.identities[sha256.Sum256([]byte(token))]
	if !ok {
		return Identity{}, errUnauthorized
	}
	return identity, nil
}
