package hostlink

// Disks between two hosts: resumed, damaged, shared, and what strangers get.

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
)

// kept are guests by their folders; those in running don't stand still.
type kept struct {
	consoles
	folders map[string]string
	running map[string]bool
}

func (k kept) Disks(_ context.Context, serverID string) (GuestDisks, error) {
	folder, ok := k.folders[serverID]
	switch {
	case !ok:
		return GuestDisks{}, faults.New(faults.NotFound, "GuestNotFound", "no guest %s", serverID)
	case k.running[serverID]:
		return GuestDisks{}, faults.New(faults.Conflict, "GuestRuns", "guest %s runs", serverID)
	}
	return GuestDisks{Folder: folder, Names: []string{"disk", "disk.swap"}}, nil
}

// pulling is a source with the guest "a", whose disks are of three and a half
// pieces and of none, and a destination.
type pulling struct {
	*testing.T
	key        Key
	source     PullSource
	puller     *Puller
	folder, to string
	content    []byte
	listener   *Listener
	running    map[string]bool
}

func newPulling(t *testing.T) *pulling {
	t.Helper()
	p := &pulling{T: t, key: newKey(t), folder: t.TempDir(), to: filepath.Join(t.TempDir(), "guests", "a"), running: map[string]bool{}}
	p.content = make([]byte, 3<<20+1<<19)
	if _, err := rand.Read(p.content); err != nil {
		t.Fatal(err)
	}
	clear(p.content[1<<20 : 2<<20]) // a hole
	for name, content := range map[string][]byte{"disk": p.content, "disk.swap": nil} {
		if err := os.WriteFile(filepath.Join(p.folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.source.HostID = uuid.NewString()
	var err error
	p.listener, err = Listen("127.0.0.1:0", p.source.HostID, p.key, kept{folders: map[string]string{"a": p.folder, "b": t.TempDir()}, running: p.running}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.listener.Close() })
	p.source.Address = p.listener.Address()
	p.puller = NewPuller(p.key, uuid.NewString())
	p.puller.chunk = 1 << 20
	return p
}

func (p *pulling) pull() (Pulled, error) {
	return p.puller.Pull(p.Context(), p.source, "a", p.to, func() {})
}

func (p *pulling) wantWhole() {
	p.Helper()
	if got, err := os.ReadFile(filepath.Join(p.to, "disk")); err != nil || !bytes.Equal(got, p.content) {
		p.Errorf("the disk has %d bytes, want the %d of the source's (%v)", len(got), len(p.content), err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.to, partPrefix+"*")); len(left) > 0 {
		p.Errorf("%v are left", left)
	}
}

func TestDisksArePulledOnce(t *testing.T) {
	t.Parallel()
	p := newPulling(t)
	if done, err := p.pull(); err != nil || done.Bytes != int64(len(p.content)) || done.Shared {
		t.Fatalf("%+v, %v", done, err)
	}
	p.wantWhole()
	if done, err := p.pull(); err != nil || done.Bytes != 0 {
		t.Errorf("again: %+v, %v", done, err)
	}
	p.wantWhole()
}

// Killed after each piece in turn, it goes on with the next: no byte goes over
// the link twice.
func TestAPullGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	p := newPulling(t)
	var sent int64
	for killed := 0; ; killed++ {
		ctx, kill := context.WithCancel(t.Context())
		done, err := p.puller.Pull(ctx, p.source, "a", p.to, kill)
		kill()
		sent += done.Bytes
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || killed > 4 {
			t.Fatalf("killed %d times: %v", killed, err)
		}
		if _, err := os.Stat(filepath.Join(p.to, "disk")); err == nil {
			t.Fatal("a disk has its name before it is whole")
		}
	}
	if sent != int64(len(p.content)) {
		t.Errorf("%d bytes went over the link, want %d", sent, len(p.content))
	}
	p.wantWhole()
}

// A byte that changed on the way, or on the destination while it was killed, is
// found before the disk has its name; then the disk is fetched anew.
func TestADamagedDiskIsRefused(t *testing.T) {
	t.Parallel()
	p := newPulling(t)
	if err := os.MkdirAll(p.to, 0o700); err != nil {
		t.Fatal(err)
	}
	half := bytes.Clone(p.content[:2<<20])
	half[7] ^= 1
	if err := os.WriteFile(filepath.Join(p.to, partPrefix+"disk"), half, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := p.pull()
	if !faults.Is(err, faults.Unavailable) || !strings.Contains(err.Error(), "came damaged") {
		t.Fatalf("a damaged disk: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.to, "disk")); err == nil {
		t.Error("a damaged disk has its name")
	}
	if done, err := p.pull(); err != nil || done.Bytes != int64(len(p.content)) {
		t.Errorf("again: %+v, %v", done, err)
	}
	p.wantWhole()

	p.puller.http = &http.Client{Transport: flipping{p.puller.http.Transport}}
	if err := os.RemoveAll(p.to); err != nil {
		t.Fatal(err)
	}
	if done, err := p.pull(); !faults.Is(err, faults.Unavailable) || done.Bytes != 0 {
		t.Errorf("a piece with another byte: %+v, %v", done, err)
	}
}

// flipping changes the first byte of every piece.
type flipping struct{ http.RoundTripper }

func (f flipping) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.RoundTripper.RoundTrip(r)
	if err != nil || r.Header.Get("Range") == "" {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		text[0] ^= 1
		resp.Body = io.NopCloser(bytes.NewReader(text))
	}
	return resp, err
}

// A host that sees the source's folder reads the disks there, and goes on where it
// was killed; the folder may be its own as well.
func TestWhatIsSharedGoesOverNoLink(t *testing.T) {
	t.Parallel()
	p := newPulling(t)
	p.to = filepath.Join(filepath.Dir(p.to), "a.host.1")
	guests := filepath.Dir(p.to)
	if err := os.MkdirAll(guests, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.folder, filepath.Join(guests, "a")); err != nil {
		t.Fatal(err)
	}
	for killed := 0; ; killed++ {
		ctx, kill := context.WithCancel(t.Context())
		done, err := p.puller.Pull(ctx, p.source, "a", p.to, kill)
		kill()
		if err == nil && done.Shared && done.Bytes == 0 {
			break
		}
		if err == nil || killed > 4 {
			t.Fatalf("killed %d times: %+v, %v", killed, done, err)
		}
	}
	p.wantWhole()
	p.to = filepath.Join(guests, "a")
	for range 2 {
		if done, err := p.pull(); err != nil || !done.Shared || done.Bytes != 0 {
			t.Errorf("%+v, %v", done, err)
		}
	}
	p.wantWhole()
	if found, _ := filepath.Glob(filepath.Join(p.folder, markerPrefix+"*")); len(found) != 1 {
		t.Errorf("markers %v", found)
	}

	// A marker of another server's is none.
	if err := os.Rename(filepath.Join(guests, "a"), filepath.Join(guests, "b")); err != nil {
		t.Fatal(err)
	}
	p.to = filepath.Join(guests, "a")
	if done, err := p.pull(); err != nil || done.Shared || done.Bytes != int64(len(p.content)) {
		t.Errorf("of what is not seen: %+v, %v", done, err)
	}
}

func TestWhoMayPull(t *testing.T) {
	t.Parallel()
	p := newPulling(t)
	get := func(pass, what, bytes string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+p.source.Address+"/guests/a/"+what, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+pass)
		r.Header.Set("Range", bytes)
		resp, err := p.puller.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		return resp.StatusCode
	}
	caller := hostCaller(p.puller.hostID)
	of := func(host, server, what string) string {
		return p.key.Issue(caller, "GET", guestObject(host, server, what))
	}
	disk, source := diskRead("disk"), p.source.HostID
	once := of(source, "a", disk)
	for _, c := range []struct {
		name, pass, what, bytes string
		want                    int
	}{
		{"a piece", once, disk, "bytes=0-9", 206},
		{"the pass again", once, disk, "bytes=0-9", 401},
		{"a ticket of another server", of(source, "b", disk), disk, "bytes=0-9", 401},
		{"a ticket of another host", of(uuid.NewString(), "a", disk), disk, "bytes=0-9", 401},
		{"a ticket of another disk", of(source, "a", diskRead("disk.swap")), disk, "bytes=0-9", 401},
		{"another deployment's", newKey(t).Issue(caller, "GET", guestObject(source, "a", disk)), disk, "bytes=0-9", 401},
		{"the API", p.key.Issue(apiCaller, "GET", guestObject(source, "a", disk)), disk, "bytes=0-9", 401},
		{"no range", of(source, "a", disk), disk, "", 400},
		{"too large a range", of(source, "a", disk), disk, "bytes=0-16777216", 400},
		{"a range that ends before it begins", of(source, "a", disk), disk, "bytes=9-0", 400},
		{"a file that is no disk", of(source, "a", diskRead("guest.json")), diskRead("guest.json"), "bytes=0-9", 404},
		{"a path out of the folder", of(source, "a", "disks/../../x"), "disks/..%2F..%2Fx", "bytes=0-9", 404},
	} {
		if got := get(c.pass, c.what, c.bytes); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if _, err := p.puller.Pull(t.Context(), p.source, "none", p.to, func() {}); !faults.Is(err, faults.NotFound) {
		t.Errorf("no such guest: %v", err)
	}
	p.running["a"] = true
	if _, err := p.pull(); !faults.Is(err, faults.Conflict) {
		t.Errorf("a guest that runs: %v", err)
	}
	delete(p.running, "a")
	p.listener.Close()
	if _, err := p.pull(); !faults.Is(err, faults.Unavailable) {
		t.Errorf("nobody there: %v", err)
	}
}
