package qemu

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// still opens a host without a libvirtd; nothing runs there.
func still(t *testing.T) *Driver {
	t.Helper()
	return stillIn(t, t.TempDir(), "")
}

// stillIn opens one that has its guests in a folder, which others may have too.
func stillIn(t *testing.T, folder, hostID string) *Driver {
	t.Helper()
	d, err := New(Options{HostID: hostID, StateDir: folder, Socket: filepath.Join(t.TempDir(), "none")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func qemuImg(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.Command("qemu-img", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("qemu-img %v: %v: %s", args, err, said)
	}
	return string(said)
}

// Disks that come from a host whose folders are elsewhere are laid on the base
// beside them and grow to what the flavor has; what was written is there, however
// often the step is cut short.
func TestDisksAreMadeFitWhereTheyComeTo(t *testing.T) {
	t.Parallel()
	source, dest, id := still(t), still(t), uuid.NewString()
	spec := steps.ServerSpec{ServerID: id, VCPUs: 1, MemoryMB: 64, RootGB: 1, ImageID: "image"}
	from, err := source.guest(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := from.open(spec); err != nil {
		t.Fatal(err)
	}
	base := make([]byte, mib)
	if _, err := rand.Read(base); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(from.file(baseFile), base, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := from.makeDisks(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"console.log", ".disk.making"} {
		if err := os.WriteFile(from.file(other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disks, err := source.Disks(t.Context(), id)
	if want := []string{baseFile, rootFile}; err != nil || !slices.Equal(disks.Names, want) {
		t.Fatalf("disks %v, want %v (%v)", disks.Names, want, err)
	}
	if _, err := dest.Disks(t.Context(), id); !faults.Is(err, faults.NotFound) {
		t.Errorf("disks of nobody: %v", err)
	}

	fill := func(_ context.Context, folder string) error {
		for _, name := range disks.Names {
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				continue
			}
			content, err := os.ReadFile(filepath.Join(disks.Folder, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	spec.RootGB = 2
	cut := errors.New("cut short")
	for _, at := range []string{"receive.folder", "receive.disks", "receive.base", "receive.grow", "receive.done"} {
		dest.hold = func(_ context.Context, _, step string) error {
			if step == at {
				return cut
			}
			return nil
		}
		if err := dest.Receive(t.Context(), spec, fill); !errors.Is(err, cut) {
			t.Fatalf("cut short at %s: %v", at, err)
		}
	}
	dest.hold = nil
	for range 2 {
		if err := dest.Receive(t.Context(), spec, fill); err != nil {
			t.Fatal(err)
		}
	}
	to, err := dest.guest(id)
	if err != nil {
		t.Fatal(err)
	}
	info := qemuImg(t, "info", to.file(rootFile))
	if !strings.Contains(info, "virtual size: 2 GiB") || !strings.Contains(info, "backing file: "+baseFile+" (actual path: "+to.file(baseFile)+")") {
		t.Errorf("the root disk is\n%s", info)
	}
	if err := os.RemoveAll(disks.Folder); err != nil {
		t.Fatal(err)
	}
	raw := filepath.Join(t.TempDir(), "raw")
	qemuImg(t, "convert", "-f", "qcow2", "-O", "raw", to.file(rootFile), raw)
	file, err := os.Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got := make([]byte, mib)
	if _, err := file.Read(got); err != nil || !bytes.Equal(got, base) {
		t.Errorf("the guest's data is another (%v)", err)
	}

	// A smaller disk is refused, and what is there stays.
	spec.RootGB = 1
	if err := dest.Receive(t.Context(), spec, fill); err == nil {
		t.Error("a root disk has become smaller")
	}
	if info := qemuImg(t, "info", to.file(rootFile)); !strings.Contains(info, "virtual size: 2 GiB") {
		t.Errorf("the root disk is\n%s", info)
	}
}

// resting serves the disks of a host whose guests all stand still.
type resting struct {
	hostlink.Guests
	driver *Driver
}

func (r resting) Disks(ctx context.Context, serverID string) (hostlink.GuestDisks, error) {
	return r.driver.Disks(ctx, serverID)
}

// Two hosts that keep their guests in one folder have folders of their own in it:
// the disks are copied there, not over the link, and the source's stay as they are.
func TestDisksOnSharedStorageGoOverNoLink(t *testing.T) {
	t.Parallel()
	storage, id := t.TempDir(), uuid.NewString()
	source, dest := stillIn(t, storage, "source"), stillIn(t, storage, "dest")
	spec := steps.ServerSpec{ServerID: id, VCPUs: 1, MemoryMB: 64, RootGB: 1, ImageID: "image"}
	from, err := source.guest(id)
	if err == nil {
		err = from.open(spec)
	}
	if err == nil {
		err = os.WriteFile(from.file(baseFile), bytes.Repeat([]byte("base"), mib/4), 0o600)
	}
	if err == nil {
		err = from.makeDisks(t.Context(), spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	qemuIO(t, from.file(rootFile), "write -P 7 65536 65536")
	before, err := os.ReadFile(from.file(rootFile))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hostlink.CreateKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := hostlink.Listen("127.0.0.1:0", "source", key, resting{driver: source}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	puller := hostlink.NewPuller(key, "dest")
	spec.RootGB = 2
	for range 2 {
		err := dest.Receive(t.Context(), spec, func(ctx context.Context, folder string) error {
			done, err := puller.Pull(ctx, hostlink.PullSource{HostID: "source", Address: listener.Address()}, id, folder, func() {})
			if !done.Shared || done.Bytes != 0 || folder == from.dir {
				t.Errorf("%+v into %s", done, folder)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	to, err := dest.guest(id)
	if err != nil {
		t.Fatal(err)
	}
	qemuIO(t, to.file(rootFile), "read -P 7 65536 65536")
	if info := qemuImg(t, "info", to.file(rootFile)); !strings.Contains(info, "virtual size: 2 GiB") {
		t.Errorf("the root disk is\n%s", info)
	}
	if after, err := os.ReadFile(from.file(rootFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the source's disk has changed (%v)", err)
	}
}

// qemuIO does something to a disk that succeeds.
func qemuIO(t *testing.T, disk, command string) {
	t.Helper()
	said, err := exec.Command("qemu-io", "-f", "qcow2", "-c", command, disk).CombinedOutput()
	if err != nil || bytes.Contains(said, []byte("failed")) {
		t.Fatalf("qemu-io %s: %v: %s", command, err, said)
	}
}
