package qemu

// A guest's life on a real libvirtd.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// glance is a source of one image, and what the control plane tells of servers.
type glance struct {
	image   hostlink.Image
	data    []byte
	opened  atomic.Int32
	drive   map[string][]byte
	volumes []hostlink.Connection
}

func (g *glance) Image(context.Context, string) (hostlink.Image, error) { return g.image, nil }

func (g *glance) Wanted(context.Context, string) (hostlink.Image, error) { return g.image, nil }

func (g *glance) Open(context.Context, hostlink.Image) (io.ReadCloser, error) {
	g.opened.Add(1)
	return io.NopCloser(bytes.NewReader(g.data)), nil
}

func (g *glance) ConfigDrive(context.Context, string) (hostlink.ConfigDrive, error) {
	return hostlink.ConfigDrive{Files: g.drive}, nil
}

func (g *glance) Volumes(context.Context, string) (hostlink.Volumes, error) {
	return hostlink.Volumes{Connections: g.volumes}, nil
}

// blank is an image on which no system is: the guest stays in its firmware.
func blank() *glance {
	data := make([]byte, 1<<20)
	copy(data[4096:], "blank disk")
	sum := sha256.Sum256(data)
	return &glance{data: data, image: hostlink.Image{ID: "blank", DiskFormat: "raw", Size: int64(len(data)), HashAlgo: "sha256", HashValue: hex.EncodeToString(sum[:])}}
}

func confirmed() error { return nil }

// host opens the driver of a host on the tests' libvirtd.
func host(t testing.TB, dir string, from *glance, onStep func(serverID, step string)) *Driver {
	t.Helper()
	d, err := New(Options{StateDir: dir, Images: from, Servers: from, OnStep: onStep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// spec is that of a new small server.
func spec() steps.ServerSpec {
	return steps.ServerSpec{ServerID: uuid.NewString(), Name: "web", Hostname: "web", ProjectID: "p", UserID: "u",
		VCPUs: 1, MemoryMB: 64, RootGB: 1, ImageID: "blank", Flavor: "m1.nano", Generation: 1,
		ImageProperties: map[string]string{"os_shutdown_timeout": "0"}}
}

// clean removes what a test has left of a server.
func clean(t testing.TB, d *Driver, serverID string) {
	t.Helper()
	if err := d.Destroy(context.Background(), serverID, confirmed); err != nil {
		t.Errorf("clean: %v", err)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	from := blank()
	d, s := host(t, t.TempDir(), from, nil), spec()
	defer clean(t, d, s.ServerID)
	for range 2 {
		if got, err := d.Build(t.Context(), s, confirmed); err != nil || got != (libvirt.Guest{ServerID: s.ServerID, PowerState: libvirt.Running}) {
			t.Fatalf("build: %+v, %v", got, err)
		}
	}
	for i, c := range []struct {
		action steps.PowerAction
		want   int
	}{
		{steps.PowerPause, libvirt.Paused}, {steps.PowerUnpause, libvirt.Running},
		{steps.PowerFreeze, libvirt.Paused}, {steps.PowerStart, libvirt.Running},
		{steps.PowerSuspend, libvirt.Suspended}, {steps.PowerFreeze, libvirt.Suspended}, {steps.PowerResume, libvirt.Running},
		{steps.PowerStop, libvirt.Shutdown}, {steps.PowerFreeze, libvirt.Shutdown}, {steps.PowerStart, libvirt.Running},
		{steps.PowerReboot, libvirt.Running}, {steps.PowerHardReboot, libvirt.Running}, {steps.PowerInjectNMI, libvirt.Running},
		{steps.PowerForceStop, libvirt.Shutdown}, {steps.PowerHardReboot, libvirt.Running},
	} {
		for range 2 {
			got, err := d.Power(t.Context(), s.ServerID, c.action, fmt.Sprint("mark", i), confirmed)
			if err != nil || got.PowerState != c.want {
				t.Fatalf("%s: %+v, %v, want %d", c.action, got, err, c.want)
			}
		}
		if got, err := d.Observe(t.Context(), s.ServerID); err != nil || got.PowerState != c.want {
			t.Fatalf("after %s: %+v, %v", c.action, got, err)
		}
	}
	if got, err := d.List(t.Context()); err != nil || !slices.Equal(got, []libvirt.Guest{{ServerID: s.ServerID, PowerState: libvirt.Running}}) {
		t.Errorf("list: %+v, %v", got, err)
	}
	for range 2 {
		if err := d.Destroy(t.Context(), s.ServerID, confirmed); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := d.List(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("list: %+v, %v", got, err)
	}
	if _, err := d.Observe(t.Context(), s.ServerID); !faults.Is(err, faults.NotFound) {
		t.Errorf("observe: %v", err)
	}
	if n := from.opened.Load(); n != 1 {
		t.Errorf("the image was downloaded %d times", n)
	}
}
