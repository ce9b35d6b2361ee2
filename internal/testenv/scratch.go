// Where the shared servers keep their files.

package testenv

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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
// cost memory. What is measured is on a disk, as in production.
func scratch() (string, *statedir.Lock, error) {
	parent := os.TempDir()
	var there unix.Statfs_t
	if err := unix.Statfs(inMemory, &there); !measures() && err == nil && there.Type == unix.TMPFS_MAGIC && int64(there.Bavail)*there.Bsize >= enough {
		parent = inMemory
		if err := sweep(parent); err != nil {
			return "", nil, err
		}
	}
	return claim(parent)
}

// measures says that this process runs benchmarks.
func measures() bool {
	bench := flag.Lookup("test.bench")
	return bench != nil && bench.Value.String() != ""
}

// claim makes a folder that has its name once it is locked, so that nobody sweeps it
// away before.
func claim(parent string) (string, *statedir.Lock, error) {
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
		if errors.Is(err, statedir.ErrLocked) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			continue // it lives, or is being removed
		}
		if err != nil {
			return fmt.Errorf("a folder that tests have left: %w", err)
		}
		if err := discard(dir, lock); err != nil {
			return err
		}
	}
	return nil
}

// discard removes a folder that is locked, and gives the lock back. Once the lock's file
// is gone somebody who sweeps may put another there, before or while they remove the
// rest; so what is left then is removed again.
func discard(dir string, lock *statedir.Lock) error {
	err := os.RemoveAll(dir)
	for tries := 0; errors.Is(err, unix.ENOTEMPTY) && tries < 100; tries++ {
		time.Sleep(10 * time.Millisecond)
		err = os.RemoveAll(dir)
	}
	return errors.Join(err, lock.Release())
}
