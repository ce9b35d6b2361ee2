package hostlink

// Disks from host to host: what the destination does. It copies piece by piece,
// each under a pass of its own and checked by its digest, and goes on where an
// earlier call has stopped; a disk gets its name when the digest of all of it is
// the source's. A source whose folder this host sees is read there.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

// Puller copies disks to one host.
type Puller struct {
	key    Key
	hostID string
	http   *http.Client
	chunk  int64
}

// NewPuller makes the one of a host.
func NewPuller(key Key, hostID string) *Puller {
	t := NewTransport()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	t.Protocols = &protocols
	return &Puller{key: key, hostID: hostID, http: &http.Client{Transport: t, CheckRedirect: noRedirect}, chunk: maxChunk}
}

// PullSource is where disks are: a host and the address of its listener.
type PullSource struct{ HostID, Address string }

// Pulled is what a call has done.
type Pulled struct {
	// Shared says that this host sees the source's folder: nothing went over the
	// link.
	Shared bool
	// Bytes is what went over the link in this call.
	Bytes int64
}

// partPrefix begins the name of a disk that is on its way.
const partPrefix = ".pulled-"

// Pull brings the disks of a guest into a folder of this host, and tells alive of
// every piece. It is idempotent by what is there: a disk that has its name is
// whole. Errors: NotFound, no such guest there; Conflict, it runs; Unavailable,
// the source can't be reached, or a disk came damaged and is fetched anew by the
// next call.
func (p *Puller) Pull(ctx context.Context, from PullSource, serverID, folder string, alive func()) (Pulled, error) {
	var m manifest
	err := p.ask(ctx, from, serverID, disksRead, "", func(resp *http.Response) error {
		return readJSON(resp.Body, maxReport, &m)
	})
	if err != nil {
		return Pulled{}, err
	}
	if len(m.Disks) > maxDisks || !strings.HasPrefix(m.Marker, markerPrefix) || !isName(m.Marker) {
		return Pulled{}, faults.New(faults.Internal, "HostLink", "the host describes the disks of server %s as none can be", serverID)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Pulled{}, unreadable(err)
	}
	seen, err := folderWith(filepath.Dir(folder), serverID, m.Marker)
	if err != nil {
		return Pulled{}, unreadable(err)
	}
	var disks origin = linked{Puller: p, from: from, serverID: serverID}
	if seen != "" {
		disks = shared(seen)
	}
	done := Pulled{Shared: seen != ""}
	for _, disk := range m.Disks {
		if !isName(disk.Name) || strings.HasPrefix(disk.Name, ".") || disk.Size < 0 {
			return done, faults.New(faults.Internal, "HostLink", "the host has a disk %q, which is no name", disk.Name)
		}
		n, err := p.pullDisk(ctx, disks, folder, disk, alive)
		if !done.Shared {
			done.Bytes += n
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// folderWith finds the one of a server's folders that has the marker, "" if this
// host sees none such: each host's is called after the server.
func folderWith(guests, serverID, marker string) (string, error) {
	entries, err := os.ReadDir(guests)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), serverID) {
			continue
		}
		path := filepath.Join(guests, entry.Name())
		switch _, err := os.Stat(filepath.Join(path, marker)); {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "", nil
}

// isName says that a name stays in its folder.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && filepath.Base(name) == name && !strings.ContainsRune(name, 0)
}

// origin is where disks come from.
type origin interface {
	// piece reads length bytes of a disk.
	piece(ctx context.Context, name string, at, length int64) ([]byte, error)
	// digest is that of a whole disk.
	digest(ctx context.Context, name string) (string, error)
}

// linked is a guest's folder on another host.
type linked struct {
	*Puller
	from     PullSource
	serverID string
}

// shared is one that this host sees.
type shared string

func (p *Puller) pullDisk(ctx context.Context, from origin, folder string, disk diskFile, alive func()) (sent int64, err error) {
	path, part := filepath.Join(folder, disk.Name), filepath.Join(folder, partPrefix+disk.Name)
	if _, err := os.Stat(path); err == nil {
		return 0, nil
	}
	file, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, unreadable(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return 0, unreadable(err)
	}
	have := info.Size()
	if have > disk.Size {
		have = 0
	}
	for have < disk.Size {
		piece, err := from.piece(ctx, disk.Name, have, min(disk.Size-have, p.chunk))
		if err != nil {
			return sent, err
		}
		if err := place(file, piece, have); err != nil {
			return sent, unreadable(err)
		}
		have += int64(len(piece))
		sent += int64(len(piece))
		alive()
	}
	if err := file.Truncate(disk.Size); err != nil {
		return sent, unreadable(err)
	}
	if err := verify(ctx, from, disk.Name, file, alive); err != nil {
		if faults.Is(err, faults.Unavailable) && errors.Is(err, errDamaged) {
			err = errors.Join(err, os.Remove(part))
		}
		return sent, err
	}
	if err := file.Sync(); err != nil {
		return sent, unreadable(err)
	}
	if err := os.Rename(part, path); err != nil {
		return sent, unreadable(err)
	}
	return sent, nil
}

// place writes a piece; zeros take no room.
func place(file *os.File, piece []byte, at int64) error {
	if len(bytes.TrimLeft(piece, "\x00")) == 0 {
		return file.Truncate(at + int64(len(piece)))
	}
	_, err := file.WriteAt(piece, at)
	return err
}

// piece fetches the bytes and checks their digest.
func (l linked) piece(ctx context.Context, name string, at, length int64) (piece []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	err = l.ask(ctx, l.from, l.serverID, diskRead(name), fmt.Sprintf("bytes=%d-%d", at, at+length-1), func(resp *http.Response) error {
		if piece, err = io.ReadAll(io.LimitReader(resp.Body, length+1)); err != nil {
			return faults.Wrap(err, faults.Unavailable, "HostLink", "the host hung up")
		}
		sum := sha256.Sum256(piece)
		if int64(len(piece)) != length || hex.EncodeToString(sum[:]) != resp.Header.Get(digestHeader) {
			return damaged("a piece of disk " + name)
		}
		return nil
	})
	return piece, err
}

func (l linked) digest(ctx context.Context, name string) (sum string, err error) {
	err = l.ask(ctx, l.from, l.serverID, digestRead(name), "", func(resp *http.Response) error {
		return readJSON(resp.Body, 1<<10, &sum)
	})
	return sum, err
}

func (folder shared) piece(_ context.Context, name string, at, length int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(folder), name))
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	piece := make([]byte, length)
	if _, err := file.ReadAt(piece, at); err != nil {
		return nil, unreadable(err)
	}
	return piece, nil
}

func (folder shared) digest(ctx context.Context, name string) (string, error) {
	file, err := os.Open(filepath.Join(string(folder), name))
	if err != nil {
		return "", unreadable(err)
	}
	defer file.Close()
	sum, err := digestOf(ctx, file)
	if err != nil {
		return "", unreadable(err)
	}
	return sum, nil
}

var errDamaged = errors.New("the digest is another")

func damaged(what string) error {
	return faults.Wrap(errDamaged, faults.Unavailable, "DiskDamaged", "%s came damaged", what)
}

// verify compares the digests of a whole disk; both hosts read it meanwhile.
func verify(ctx context.Context, from origin, name string, file *os.File, alive func()) error {
	ctx, cancel := context.WithTimeout(ctx, digestTime)
	defer cancel()
	defer beating(alive)()
	want, err := from.digest(ctx, name)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return unreadable(err)
	}
	have, err := digestOf(ctx, file)
	switch {
	case err != nil:
		return unreadable(err)
	case have != want:
		return damaged("disk " + name)
	}
	return nil
}

// beating tells alive every second until it is stopped.
func beating(alive func()) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				alive()
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// ask makes one request under a fresh pass.
func (p *Puller) ask(ctx context.Context, from PullSource, serverID, what, bytes string, read func(*http.Response) error) error {
	parts := strings.Split(what, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	address := "http://" + from.Address + "/guests/" + url.PathEscape(serverID) + "/" + strings.Join(parts, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return faults.Wrap(err, faults.Unavailable, "HostLink", "the host's link address is not usable")
	}
	req.Header.Set("Authorization", "Bearer "+p.key.Issue(hostCaller(p.hostID), http.MethodGet, guestObject(from.HostID, serverID, what)))
	if bytes != "" {
		req.Header.Set("Range", bytes)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return faults.Wrap(err, faults.Unavailable, "HostLink", "the host can't be reached")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return readFault(resp)
	}
	return read(resp)
}
