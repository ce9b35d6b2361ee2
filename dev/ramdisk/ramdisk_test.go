package ramdisk

// The recipe. What it makes boots in integration/baremetal/real.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What the agent is made of is pinned, the agent first, in the version that is said.
func TestTheAgentIsPinned(t *testing.T) {
	t.Parallel()
	text, err := sources.ReadFile("agent.txt")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^[a-z0-9-]+==[0-9a-z.]+$`)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		if lines = append(lines, line); !pinned.MatchString(line) {
			t.Errorf("%q", line)
		}
	}
	if len(lines) < 2 || lines[0] != "ironic-python-agent=="+Version {
		t.Errorf("%v", lines)
	}
}

// One that was made by the same recipe is found, as it is; what another has made, or a
// build that was cut short has left, is not.
func TestWhatWasMadeIsFound(t *testing.T) {
	t.Parallel()
	name, err := fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for of, took := range map[string]string{name: "1m30s", "another": "1s", "build-1": "2s"} {
		if err := os.Mkdir(filepath.Join(dir, of), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, of, tookFile), []byte(took), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Build(t.Context(), dir)
	if err != nil || r.Took != 90*time.Second || r.Initial != filepath.Join(dir, name, initialFile) || r.Kernel == r.Loader {
		t.Errorf("%+v, %v", r, err)
	}
}
