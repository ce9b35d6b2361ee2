package statedir

// Locking a folder, and replacing files in it whole.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Lock is the sole right to a folder. The kernel takes it back when the
// process dies, however it dies.
type Lock struct{ file *os.File }

// ErrLocked says that another process has the folder.
var ErrLocked = errors.New("another process has this state folder")

// Acquire makes the folder if need be and locks it; ErrLocked if another
// process has it.
func Acquire(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	// A file of its own: one that is replaced would take its lock along.
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return &Lock{file}, nil
}

// Release gives the folder back, also where a child that is just being started
// still has a copy of the open file.
func (l *Lock) Release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

// Write replaces the file at path and returns when the new content is on disk:
// not even a loss of power brings the old one back.
func Write(path string, data []byte) error { return write(path, data, true) }

// Replace is Write for content that has to survive the process but not the
// machine; it doesn't wait for the disk.
func Replace(path string, data []byte) error { return write(path, data, false) }

func write(path string, data []byte, durable bool) error {
	draft, err := draw(path, data, durable)
	if err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	if durable {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

// Create writes the file at path, durably, if there is none. Of several
// processes that do so at once one does it, and none of them sees half of it.
func Create(path string, data []byte) error {
	draft, err := draw(path, data, true)
	if err != nil {
		return err
	}
	err = os.Link(draft, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err = errors.Join(err, os.Remove(draft)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// draw writes the content to a file beside path and gives its name.
func draw(path string, data []byte, durable bool) (draft string, err error) {
	dir, name := filepath.Split(path)
	file, err := os.CreateTemp(dir, tempPrefix+name+"-*")
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err == nil && durable {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// Remove deletes the file at path for good; one that isn't there is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// tempPrefix begins the names of files that are being written; readers of a
// folder pass over them.
const tempPrefix = ".writing-"

// Sweep removes what writers that died have left in the folder. The caller
// holds the folder's Lock, so no writer is at work.
func Sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func syncDir(dir string) error {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
