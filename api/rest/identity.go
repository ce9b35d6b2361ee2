package rest

// Who asks.

import (
	"context"
	"crypto/sha256"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
)

// Identity is what a token proves.
type Identity = identity.Identity

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

// implied are the roles that a role brings with it, as Keystone's bootstrap has
// them.
var implied = map[string][]string{
	"admin":   {"manager", "member", "reader"},
	"manager": {"member", "reader"},
	"member":  {"reader"},
}

// NewStaticTokens makes one; the map is by token. The role "admin" makes an
// administrator of services without policies.
func NewStaticTokens(tokens map[string]policy.Credentials) *StaticTokens {
	s := &StaticTokens{identities: map[[sha256.Size]byte]Identity{}}
	for token, creds := range tokens {
		creds.IsAdmin = slices.Contains(creds.Roles, "admin")
		creds.IsAdminProject = true
		for _, role := range slices.Clone(creds.Roles) {
			creds.Roles = append(slices.Clip(creds.Roles), implied[role]...)
		}
		s.identities[sha256.Sum256([]byte(token))] = Identity{Credentials: creds, Token: token}
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
