package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
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

// Many may sweep at once, and while others remove their own.
func TestSweepersMeet(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 12 {
				dir, lock, err := claim(parent)
				if err != nil {
					t.Error(err)
					return
				}
				for f := range 20 {
					if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(f)), nil, 0o600); err != nil {
						t.Error(err)
					}
				}
				if n%2 == 0 { // its process dies
					err = lock.Release()
				} else {
					err = discard(dir, lock)
				}
				if err := errors.Join(err, sweep(parent)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := sweep(parent); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
