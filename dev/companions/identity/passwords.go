package identity

// Passwords and secrets, kept as bcrypt hashes.

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"golang.org/x/crypto/bcrypt"

	"holdfast.dev/dev/companions/service"
)

// hashing bounds the processors that strangers can keep busy with wrong passwords.
var hashing = make(chan struct{}, 2)

// longestPassword is Keystone's max_password_length.
const longestPassword = 4096

// digest brings a password of any length under bcrypt's 72 bytes.
func digest(password string) []byte {
	sum := sha256.Sum256([]byte(password))
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}

func hashPassword(ctx context.Context, password string) (string, error) {
	if password == "" || len(password) > longestPassword {
		return "", service.Fail(http.StatusBadRequest, "A password or secret has from 1 to %d bytes.", longestPassword)
	}
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	hash, err := bcrypt.GenerateFromPassword(digest(password), bcrypt.DefaultCost)
	return string(hash), err
}

// nobody's hash is compared where there is no user, so that an answer takes
// as long for a name that exists as for one that doesn't.
const nobody = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

// check refuses a password other than the one hashed; hash is nil for none.
func check(ctx context.Context, hash *string, password string) error {
	if len(password) > longestPassword {
		return service.Unauthorized()
	}
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	known := nobody
	if hash != nil {
		known = *hash
	}
	if bcrypt.CompareHashAndPassword([]byte(known), digest(password)) != nil || hash == nil {
		return service.Unauthorized()
	}
	return nil
}
