// Package isotest reads config drives that tests are handed. Only tests import it.
package isotest

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/iso"
)

// Drive gives files of a config drive, by their names in openstack/latest; those that
// aren't there are left out.
func Drive(t testing.TB, image []byte, names ...string) map[string]string {
	t.Helper()
	const latest = "openstack/latest/"
	insides := make([]string, len(names))
	for i, name := range names {
		insides[i] = latest + name
	}
	at := filepath.Join(t.TempDir(), "drive.iso")
	err := os.WriteFile(at, image, 0o600)
	var label string
	var found map[string][]byte
	if err == nil {
		label, found, err = iso.Read(at, insides...)
	}
	if err != nil || label != iso.ConfigDrive {
		t.Fatalf("a config drive of the label %q: %v", label, err)
	}
	files := map[string]string{}
	for i, name := range names {
		if text, there := found[insides[i]]; there {
			files[name] = string(text)
		}
	}
	return files
}
