// Where the shared servers keep their files.

package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"holdfast.dev/internal/statedir"
)

const (
	inMemory = "/dev/shm"
	// enough is for the databases of all tests that run at once, in bytes.
	enough = 4 << 30
	prefix = "holdfast-test-"
)

// scratch makes a folder for the servers' files, which is this process's as long as it
// lives, and removes those of processes that died. It is in memory if there is room: each
// test has a database of its own, whose thousand files cost a disk ten times what they
// cost memory.
func scratch() (string, *statedir.Lock, error) {
	parent := os.TempDir()
	var there unix.Statfs_t
	if err := unix.Statfs(inMemory, &there); err == nil && there.Type == unix.TMPFS_MAGIC && int64(there.Bavail)*there.Bsize >= enough {
		parent = inMemory
		if err := sweep(parent); err != nil {
			return "", nil, err
		}
	}
	// It has its name once it is locked, so that nobody sweeps it away before.
	young, err := os.MkdirTemp(parent, "young-"+prefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := statedir.Acquire(young)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(young))
	}
	dir := filepath.Join(parent, filepath.Base(young)[len("young-"):])
	if err := os.Rename(young, dir); err != nil {
		return "", nil, errors.Join(err, lock.Release(), os.RemoveAll(young))
	}
	return dir, lock, nil
}

// sweep removes the folders whose processes have died.
func sweep(parent string) error {
	left, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		lock, err := statedir.Acquire(dir)
		if errors.Is(err, statedir.ErrLocked) {
			continue
		}
		if err != nil {
			return fmt.Errorf("a folder that tests have left: %w", err)
		}
		if err := errors.Join(os.RemoveAll(dir), lock.Release()); err != nil {
			return err
		}
	}
	return nil
}
