package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/statedir"
)

// Of the folders of tests, those go whose processes have died.
func TestSweep(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	lives, died, other := filepath.Join(parent, prefix+"lives"), filepath.Join(parent, prefix+"died"), filepath.Join(parent, "other")
	for _, dir := range []string{lives, died, other} {
		lock, err := statedir.Acquire(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		if dir == died {
			if err := lock.Release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := sweep(parent); err != nil {
		t.Fatal(err)
	}
	for dir, stays := range map[string]bool{lives: true, died: false, other: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}
