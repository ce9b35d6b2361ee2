// Test of what is said when the server's program isn't there.

package launch_test

import (
	"testing"

	"holdfast.dev/dev/launch"
)

func TestMissingProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "")
	t.Setenv(launch.TemporalVariable, "")
	_, err := launch.Temporal(launch.TemporalOptions{})
	want := `there is no holdfast-temporal: build it with "make build", or say where it is in HOLDFAST_TEMPORAL`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
