package resources_test

// What is looked at by a check, and what sleeps with its stack.

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"holdfast.dev/activities/resources"
)

// The types that have something to say to a check, or to do when their stack sleeps, are
// those that have in the original.
func TestWhoIsCheckedAndSleeps(t *testing.T) {
	t.Parallel()
	types := resources.Builtin()
	maps.Copy(types, benchOf(t, http.NotFoundHandler()).types)
	var checked, sleeps []string
	for name, of := range types {
		if _, is := of.(resources.Checker); is {
			checked = append(checked, name)
		}
		if _, is := of.(resources.Sleeper); is {
			sleeps = append(sleeps, name)
		}
	}
	slices.Sort(checked)
	slices.Sort(sleeps)
	if want := []string{"OS::Cinder::Volume", "OS::Heat::TestResource", "OS::Nova::KeyPair", "OS::Nova::Server", "OS::Swift::Container"}; !slices.Equal(checked, want) {
		t.Errorf("checked are %v, want %v", checked, want)
	}
	if want := []string{"OS::Heat::Delay", "OS::Nova::Server"}; !slices.Equal(sleeps, want) {
		t.Errorf("there sleep %v, want %v", sleeps, want)
	}
}
