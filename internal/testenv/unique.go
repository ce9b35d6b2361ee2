// Names that no two tests share.

package testenv

import (
	"crypto/rand"
	"strings"
)

// unique returns prefix_ and letters and digits nobody has had before, which
// is a name both for a database and for a namespace.
func unique(prefix string) string {
	return prefix + "_" + strings.ToLower(rand.Text())
}
