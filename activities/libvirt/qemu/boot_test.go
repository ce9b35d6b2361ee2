package qemu

// The bootable test image, from download to its end: what the guest
// says on its console is what it was given.

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/dev/image"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// bootable is a source of the test image, whose servers are told hostname and keys.
func bootable(t *testing.T) *glance {
	t.Helper()
	data, err := os.ReadFile(os.Getenv(imageKey))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(data)
	return &glance{data: data,
		image: hostlink.Image{ID: "boots", DiskFormat: "qcow2", Size: int64(len(data)), HashAlgo: "sha512", HashValue: hex.EncodeToString(sum[:])},
		drive: map[string][]byte{"openstack/latest/meta_data.json": []byte(
			`{"uuid": "5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1", "hostname": "vm1.novalocal", "public_keys": {"k": "ssh-ed25519 AAAAC3Nz k@example\n"}, "name": "vm1"}`)}}
}

// says waits until the guest has said the line.
func says(t *testing.T, d *Driver, serverID, line string, times int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for {
		log, err := d.Console(ctx, serverID, -1)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(log), "\r", "")
		if strings.Count(text, line) >= times {
			return text
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the guest never said %q %d times; console:\n%s", line, times, text)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// pressed is what the guest says when it ends because of its power button.
const pressed = "power button: the guest ends\n"

func TestBoots(t *testing.T) {
	t.Parallel()
	var d *Driver
	s, dir := spec(), t.TempDir()
	// Before a reboot starts the guest again, its console tells how it ended.
	var ends atomic.Int32
	d = host(t, dir, bootable(t), func(_, step string) {
		if step != "power.off" {
			return
		}
		log, err := os.ReadFile(filepath.Join(d.dir, s.ServerID, consoleFile))
		if err == nil && strings.Contains(strings.ReplaceAll(string(log), "\r", ""), pressed) {
			ends.Add(1)
		}
	})
	s.ImageID, s.MemoryMB, s.ConfigDrive = "boots", 192, true
	s.ImageProperties = maps.Clone(image.Properties)
	// All the patience that there is: a guest that minds its button needs none.
	s.ImageProperties["os_shutdown_timeout"] = "240"
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	says(t, d, s.ServerID, image.Banner, 1)
	for _, line := range []string{"source: config drive\n", "hostname: vm1.novalocal\n", "key: ssh-ed25519 AAAAC3Nz k@example\n", "ready: "} {
		says(t, d, s.ServerID, line, 1)
	}
	if got, err := d.Power(t.Context(), s.ServerID, steps.PowerReboot, "mark", confirmed); err != nil || got.PowerState != libvirt.Running {
		t.Fatalf("reboot: %+v, %v", got, err)
	}
	if ends.Load() != 1 {
		t.Errorf("at the reboot the guest did not end by itself")
	}
	text := says(t, d, s.ServerID, "hostname: vm1.novalocal\n", 1)
	if tail, err := d.Console(t.Context(), s.ServerID, 10); err != nil || len(tail) != 10 {
		t.Errorf("the last 10 bytes are %q, %v; all is\n%s", tail, err, text)
	}
	says(t, d, s.ServerID, "ready: ", 1)
	if got, err := d.Power(t.Context(), s.ServerID, steps.PowerStop, "", confirmed); err != nil || got.PowerState != libvirt.Shutdown {
		t.Fatalf("stop: %+v, %v", got, err)
	}
	says(t, d, s.ServerID, pressed, 1)
}
