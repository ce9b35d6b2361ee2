package testenv

import (
	"os"
	"testing"
)

// Folder is a temporary folder that every account may pass through, as those of
// PostgreSQL and QEMU have to, which they may not t.TempDir.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-test-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
