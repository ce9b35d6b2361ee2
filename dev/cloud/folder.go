package cloud

// Where a cloud is kept: in the folder that was asked for, or, where
// PostgreSQL and QEMU couldn't work in it, behind a link that is made there.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast.dev/dev/postgres"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
)

// machineFolder is where folders are made for clouds that are kept behind a link.
const machineFolder = "/var/lib/holdfast"

// lockFile is in every cloud's folder (statedir), and tells it from others.
const lockFile = "lock"

// open takes the folder, and the ports. The lock is the first thing in a new
// folder: one that is killed before it leaves an empty folder, which does.
func (c *cloud) open(ctx context.Context) (release func() error, err error) {
	if c.Dir, err = c.locate(); err != nil {
		return nil, err
	}
	// PostgreSQL's and QEMU's accounts pass through; what is below is closed.
	err = os.MkdirAll(c.Dir, 0o711)
	if err == nil {
		err = os.Chmod(c.Dir, 0o711)
	}
	if err != nil {
		return nil, fmt.Errorf("the cloud's folder: %w", err)
	}
	lock, err := statedir.Acquire(c.Dir)
	if errors.Is(err, statedir.ErrLocked) {
		return nil, faults.New(faults.Conflict, "CloudRuns", "a cloud runs in %s already", c.Dir)
	}
	if err != nil {
		return nil, err
	}
	var ended func() error
	if err = os.MkdirAll(c.path("logs"), 0o711); err != nil {
		err = fmt.Errorf("the cloud's folder: %w", err)
	} else {
		ended, err = c.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return func() error { return errors.Join(ended(), lock.Release()) }, nil
}

// locate gives the folder that everything is in. One with other things in it
// is refused: it would be opened to all accounts.
func (c *cloud) locate() (string, error) {
	if c.Dir == "" {
		return "", faults.New(faults.Invalid, "InvalidFolder", "the cloud's folder (--dir, %s) is empty", DirVariable)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", fmt.Errorf("the cloud's folder: %w", err)
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if why := c.unfit(dir); why != nil {
			return c.keepElsewhere(dir, why)
		}
		return dir, nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("the cloud's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("the cloud's folder: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, lockFile)); err != nil && len(entries) > 0 {
		return "", faults.New(faults.Invalid, "InvalidFolder", "%s is not a cloud's folder and not empty: choose another (--dir)", dir)
	}
	if err := c.unfit(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// unfit says why a cloud can't be kept in a folder; nil if it can.
func (c *cloud) unfit(dir string) error {
	if err := postgres.Reach(dir); err != nil {
		return err
	}
	inside := *c
	inside.Dir = dir
	if err := inside.nameHosts(); err != nil {
		return err
	}
	for _, l := range inside.libvirts() {
		if err := l.Fits(); err != nil {
			return err
		}
	}
	return nil
}

// keepElsewhere makes a folder for a cloud, and a link to it where it was
// asked for.
func (c *cloud) keepElsewhere(link string, why error) (dir string, err error) {
	err = os.MkdirAll(c.machineFolder, 0o711)
	if err == nil {
		dir, err = os.MkdirTemp(c.machineFolder, "dev-")
	}
	if err != nil {
		return "", errors.Join(why, err)
	}
	err = os.MkdirAll(filepath.Dir(link), 0o711)
	if err == nil {
		err = os.Symlink(dir, link)
	}
	if err != nil {
		return "", errors.Join(why, err, os.Remove(dir))
	}
	c.say("%s is a link to %s: %v\n", link, dir, why)
	return dir, nil
}
