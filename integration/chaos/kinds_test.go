package chaos

import (
	"testing"

	"holdfast.dev/internal/operations"
)

// untold are the kinds on servers that these tests have no story of, and why.
var untold = map[operations.Kind]string{
	operations.ServerRecover:       "nobody asks for it: a terminate, a reset and a lost run lead to it, in every story of TestVerbs",
	operations.ServerRecoverShared: "the same, in the stories of devices",
}

// Every kind of operation on servers is told, in full, in each of the tests that do
// something to operations at their points.
func TestEveryKindIsTold(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]map[string][]story{
		"TestVerbs":                   withVerbs(true),
		"TestTemporalDatabasesLost":   whenLost(true),
		"TestCancelWithoutTemporal":   withoutTemporal(true),
		"TestCancelWhileHostsAreDead": withoutHosts(true),
	} {
		kinds := map[operations.Kind]bool{}
		for _, stories := range told {
			for _, s := range stories {
				kinds[s.kind] = true
			}
		}
		for _, spec := range operations.All() {
			if why, left := untold[spec.Kind]; spec.Resource == operations.Server && kinds[spec.Kind] == left {
				t.Errorf("%s: %s is told: %t; left out: %q", name, spec.Kind, kinds[spec.Kind], why)
			}
		}
	}
}
