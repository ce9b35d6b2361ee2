package images

// The cache: one base per image, made once, dropped when room is needed.

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"holdfast.dev/internal/faults"
)

// Cache keeps the bases of one host.
type Cache struct {
	dir    string
	source Source
	// limit is how many bytes of disk bases may take that no guest uses.
	limit int64

	mu sync.Mutex
	// turns has a channel of one value per image that is asked for.
	turns map[string]*turn
}

type turn struct {
	users int
	free  chan struct{}
}

// unfinished begins the names of files that aren't bases yet.
const unfinished = ".making-"

// Open opens the cache in a folder that the caller has for itself, and clears
// what a process that was killed has left unfinished.
func Open(dir string, source Source, limit int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("image cache: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return nil, fmt.Errorf("image cache: %w", err)
	}
	return &Cache{dir: dir, source: source, limit: limit, turns: map[string]*turn{}}, nil
}

// Link makes link a name of the raw base that the server starts from, and
// downloads and converts the image if it isn't there yet. fits is asked with the
// disk's virtual size before anything is converted. Callers for the same image
// wait for each other. Errors: Invalid (ImageUnacceptable, or fits's), NotFound,
// Unavailable, ctx's.
func (c *Cache) Link(ctx context.Context, serverID, link string, fits func(virtual int64) error) error {
	image, err := c.source.Image(ctx, serverID)
	if err != nil {
		return err
	}
	return c.use(ctx, image, fits, func(base string) error {
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return broken(err)
		}
		return broken(os.Link(base, link))
	})
}

// Ready is Link without a link: the base is there, for as long as it isn't evicted.
func (c *Cache) Ready(ctx context.Context, serverID string, fits func(virtual int64) error) error {
	image, err := c.source.Image(ctx, serverID)
	if err != nil {
		return err
	}
	return c.use(ctx, image, fits, stays)
}

// Prefetch has the base of an image there before a server starts from it, as Ready has
// it. One with more bytes than bases may take that no guest uses is Invalid: it would be
// evicted at once.
func (c *Cache) Prefetch(ctx context.Context, imageID string) error {
	image, err := c.source.Wanted(ctx, imageID)
	if err != nil {
		return err
	}
	if image.Size > c.limit {
		return faults.New(faults.Invalid, "ImageTooLarge", "image %s has %d bytes, and images that no guest uses have %d", image.ID, image.Size, c.limit)
	}
	return c.use(ctx, image, func(int64) error { return nil }, stays)
}

func stays(string) error { return nil }

func (c *Cache) use(ctx context.Context, image Image, fits func(virtual int64) error, do func(base string) error) error {
	name, err := baseName(image)
	if err != nil {
		return err
	}
	leave, err := c.enter(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	base := filepath.Join(c.dir, name)
	switch info, err := os.Stat(base); {
	case err == nil:
		if err := fits(info.Size()); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return broken(err)
	default:
		if err := c.make(ctx, image, base, fits); err != nil {
			return err
		}
	}
	now := time.Now()
	if err := os.Chtimes(base, now, now); err != nil { // last used: see evict
		return broken(err)
	}
	if err := do(base); err != nil {
		return err
	}
	return c.evict()
}

// baseName is the image's id and the start of its hash: a name of no folder.
func baseName(i Image) (string, error) {
	_, value := sumOf(i)
	if _, err := hex.DecodeString(value); err != nil || i.ID == "" || filepath.Base(i.ID) != i.ID || i.ID[0] == '.' {
		return "", faults.New(faults.Invalid, "InvalidImage", "image %q or its hash is no name", i.ID)
	}
	return i.ID + "-" + value[:min(16, len(value))], nil
}

// enter waits for the turn to work on a base.
func (c *Cache) enter(ctx context.Context, name string) (leave func(), err error) {
	c.mu.Lock()
	t := c.turns[name]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		c.turns[name] = t
	}
	t.users++
	c.mu.Unlock()
	exit := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(c.turns, name)
		}
	}
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; exit() }, nil
	case <-ctx.Done():
		exit()
		return nil, ctx.Err()
	}
}

// make downloads, checks, converts and publishes a base.
func (c *Cache) make(ctx context.Context, image Image, base string, fits func(int64) error) (err error) {
	file, err := os.CreateTemp(c.dir, unfinished+"*")
	if err != nil {
		return broken(err)
	}
	defer func() {
		file.Close()
		if removed := os.Remove(file.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, broken(removed))
		}
	}()
	size, err := c.download(ctx, image, file)
	if err != nil {
		return err
	}
	header, err := Accept(image.ID, image.DiskFormat, file, size)
	if err != nil {
		return err
	}
	if err := fits(header.VirtualSize); err != nil {
		return err
	}
	made := file.Name()
	if driver := drivers[header.Format]; driver != "raw" {
		made += ".raw"
		defer os.Remove(made) // gone if it was published
		if err := QemuImg(ctx, "convert", "-f", driver, "-O", "raw", file.Name(), made); err != nil {
			return convertFailed(ctx, image.ID, err)
		}
	}
	return publish(made, base)
}

// drivers are QEMU's names of the formats.
var drivers = map[string]string{"raw": "raw", "gpt": "raw", "iso": "raw", "qcow2": "qcow2", "vmdk": "vmdk", "vhd": "vpc", "vdi": "vdi"}

// convertFailed says that it was the image's fault if qemu-img has said so by its
// exit code: the header was right, so what follows is damaged. A qemu-img that
// was ended by a signal, by a limit for example, says nothing of the image.
func convertFailed(ctx context.Context, imageID string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Exited() {
		return err
	}
	f := Unacceptable(imageID, "Unable to convert image to raw").(*faults.Error)
	f.Err = err
	return f
}

// publish gives a base its name once all of it is on disk.
func publish(made, base string) error {
	file, err := os.OpenFile(made, os.O_RDWR, 0)
	if err != nil {
		return broken(err)
	}
	err = errors.Join(file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(made, base)
	}
	return broken(err)
}

// download writes the image's file, holes where it has only zeros, and checks it.
func (c *Cache) download(ctx context.Context, image Image, into *os.File) (int64, error) {
	body, err := c.source.Open(ctx, image)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	sum, want := sumOf(image)
	n, err := copySparse(ctx, into, body, sum)
	if err != nil {
		return 0, err
	}
	return n, check(image, sum, want, n)
}

const block = 64 << 10

var zeros = make([]byte, block)

func copySparse(ctx context.Context, into *os.File, from io.Reader, sum hash.Hash) (int64, error) {
	buffer := make([]byte, block)
	var size int64
	for {
		n, err := io.ReadFull(from, buffer)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		data := buffer[:n]
		if sum != nil {
			sum.Write(data) // a hash's never fails
		}
		if !bytes.Equal(data, zeros[:n]) {
			if _, err := into.WriteAt(data, size); err != nil {
				return 0, broken(err)
			}
		}
		size += int64(n)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return size, broken(into.Truncate(size))
		case err != nil:
			return 0, faults.Wrap(err, faults.Unavailable, "ImageService", "the image service hung up")
		}
	}
}

// evict drops bases that no guest uses, those not used for longest first, until
// the rest is within the limit.
func (c *Cache) evict() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return broken(err)
	}
	type unused struct {
		path string
		room int64
		used time.Time
	}
	var bases []unused
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return broken(err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() || stat.Nlink > 1 || isUnfinished(entry.Name()) {
			continue
		}
		bases = append(bases, unused{filepath.Join(c.dir, entry.Name()), stat.Blocks * 512, info.ModTime()})
		total += stat.Blocks * 512
	}
	slices.SortFunc(bases, func(a, b unused) int { return a.used.Compare(b.used) })
	for _, b := range bases {
		if total <= c.limit {
			break
		}
		if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return broken(err)
		}
		total -= b.room
	}
	return nil
}

func isUnfinished(name string) bool {
	return len(name) >= len(unfinished) && name[:len(unfinished)] == unfinished
}

func broken(err error) error {
	if err == nil {
		return nil
	}
	return faults.Wrap(err, faults.Unavailable, "HostStorage", "the host's storage failed")
}
