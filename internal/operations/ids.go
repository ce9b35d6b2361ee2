package operations

// Operation ids: readable, unique, and the workflow's id as well.

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
)

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID gives a fresh id for an operation of kind k on a resource:
// "server/<uuid>/build/<20 characters>". The last part is the operation's own,
// ordered by time like a UUIDv7 (48 bits of milliseconds, 52 random bits), and
// never anything a client sent.
func NewID(k Kind, resourceID string, now time.Time) string {
	var b [13]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	rand.Read(b[6:]) // crypto/rand.Read never fails since Go 1.24
	spec := byKind[k]
	return fmt.Sprintf("%s/%s/%s/%s", spec.Resource, resourceID, spec.Verb, idEncoding.EncodeToString(b[:])[:20])
}

// ParseID takes an operation id apart; false if it has not the shape of one.
func ParseID(id string) (resource ResourceType, resourceID, verb string, ok bool) {
	parts := strings.Split(id, "/")
	if len(parts) != 4 || parts[1] == "" || parts[2] == "" || len(parts[3]) != 20 {
		return "", "", "", false
	}
	return ResourceType(parts[0]), parts[1], parts[2], true
}
