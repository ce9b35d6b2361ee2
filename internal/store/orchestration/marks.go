package orchestration

// Marks: the names by which things outside are known for a resource's.

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// MarkLength is how much of a mark is nobody else's.
const MarkLength = 12

var markEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// MarkOf names a resource among all there are, as the original names things that
// may have any name: after its stack, itself, and twelve characters.
func MarkOf(s *Stack, r *Resource) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", s.ID, r.ID))
	own := strings.ToLower(markEncoding.EncodeToString(sum[:])[:MarkLength])
	const most = 255
	name := s.Name + "-" + r.Name
	return strings.ToValidUTF8(name[:min(len(name), most-len(own)-1)], "") + "-" + own
}
