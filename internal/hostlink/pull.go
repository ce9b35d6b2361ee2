package hostlink

// Disks from host to host: what the destination does. It copies piece by piece,
// each under a pass of its own and checked by its digest, and goes on where an
// earlier call has stopped; a disk gets its name when the digest of all of it is
// the source's.

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
	// Shared says that both hosts see the same folder: nothing was copied.
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
	switch _, err := os.Stat(filepath.Join(folder, m.Marker)); {
	case err == nil:
		return Pulled{Shared: true}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Pulled{}, unreadable(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Pulled{}, unreadable(err)
	}
	var done Pulled
	for _, disk := range m.Disks {
		if !isName(disk.Name) || strings.HasPrefix(disk.Name, ".") || disk.Size < 0 {
			return done, faults.New(faults.Internal, "HostLink", "the host has a disk %q, which is no name", disk.Name)
		}
		n, err := p.pullDisk(ctx, from, serverID, folder, disk, alive)
		done.Bytes += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// isName says that a name stays in its folder.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && filepath.Base(name) == name && !strings.ContainsRune(name, 0)
}

func (p *Puller) pullDisk(ctx context.Context, from PullSource, serverID, folder string, disk diskFile, alive func()) (sent int64, err error) {
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
		piece, err := p.piece(ctx, from, serverID, disk.Name, have, min(disk.Size-have, p.chunk))
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
	if err := p.verify(ctx, from, serverID, disk.Name, file, alive); err != nil {
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

// piece fetches length bytes of a disk and checks their digest.
func (p *Puller) piece(ctx context.Context, from PullSource, serverID, name string, at, length int64) (piece []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	err = p.ask(ctx, from, serverID, diskRead(name), fmt.Sprintf("bytes=%d-%d", at, at+length-1), func(resp *http.Response) error {
		if piece, err = io.ReadAll(io.LimitReader(resp.Body, length+1)); err != nil {
			return faults.Wrap(err, faults.Unavailable, "HostLink", "the host hung up")
		}
		sum := sha256.Sum256(piece)
		if int64(len(piece)) != length || hex.EncodeToString(sum[:]) != resp.Header.Get(digestHeader) {
			return faults.Wrap(errDamaged, faults.Unavailable, "DiskDamaged", "a piece of disk %s of server %s came damaged", name, serverID)
		}
		return nil
	})
	return piece, err
}

var errDamaged = errors.New("the digest is another")

// verify compares the digests of a whole disk; both hosts read it meanwhile.
func (p *Puller) verify(ctx context.Context, from PullSource, serverID, name string, file *os.File, alive func()) error {
	ctx, cancel := context.WithTimeout(ctx, digestTime)
	defer cancel()
	defer beating(alive)()
	var want string
	err := p.ask(ctx, from, serverID, digestRead(name), "", func(resp *http.Response) error {
		return readJSON(resp.Body, 1<<10, &want)
	})
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
		return faults.Wrap(errDamaged, faults.Unavailable, "DiskDamaged", "disk %s of server %s came damaged", name, serverID)
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
