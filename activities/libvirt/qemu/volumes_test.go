package qemu

// A guest that boots from a volume, with every kind of disk beside it.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/dev/image"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// volumeFile makes a file of this host that a volume is.
func volumeFile(t *testing.T, name string, data []byte, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	err := os.WriteFile(path, data, 0o600)
	if err == nil && size > 0 {
		err = os.Truncate(path, size)
	}
	if err == nil {
		err = os.Chmod(path, 0o666) // QEMU's account writes to it
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func reachedAt(t *testing.T, id, path, format string) hostlink.Connection {
	t.Helper()
	data, err := json.Marshal(map[string]string{"device_path": path, "format": format})
	if err != nil {
		t.Fatal(err)
	}
	return hostlink.Connection{VolumeID: id, DriverType: "local", Data: data}
}

func TestBootsFromAVolume(t *testing.T) {
	t.Parallel()
	const rootID, dataID = "0a6f3b1e-1111-4a4e-8b9a-0c2a47c2f6a1", "0a6f3b1e-2222-4a4e-8b9a-0c2a47c2f6a1"
	from := bootable(t)
	root, data := volumeFile(t, "root", from.data, 0), volumeFile(t, "data", nil, 32*mib)
	from.volumes = []hostlink.Connection{reachedAt(t, dataID, data, "raw"), reachedAt(t, rootID, root, "qcow2")}
	d := host(t, t.TempDir(), from, nil)
	s := spec()
	s.ImageID, s.RootGB, s.MemoryMB, s.ImageProperties = "", 5, 192, image.Properties
	s.Disks = []steps.Disk{
		{Kind: steps.DiskEphemeral, SizeMB: 16, Device: "vdb"}, {Kind: steps.DiskEphemeral, SizeMB: 17, Device: "vdc", Format: "ext2"},
		{Kind: steps.DiskSwap, SizeMB: 8, Device: "vdd"},
	}
	s.Volumes = []steps.Volume{{ID: dataID, AttachmentID: "a-2", Device: "vde"}, {ID: rootID, AttachmentID: "a-1", Device: "vda", Boot: true}}
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	says(t, d, s.ServerID, image.Banner, 1)
	for disk, bytes := range map[string]int{"vdb": 16 * mib, "vdc": 17 * mib, "vdd": 8 * mib} {
		says(t, d, s.ServerID, fmt.Sprintf("disk: %s %d \n", disk, bytes), 1)
	}
	says(t, d, s.ServerID, fmt.Sprintf("disk: vde %d %s\n", 32*mib, dataID[:20]), 1)
	says(t, d, s.ServerID, " "+rootID[:20]+"\n", 1)
	if err := d.Destroy(t.Context(), s.ServerID, confirmed); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(d.dir); err != nil || len(left) != 0 {
		t.Errorf("the host keeps %v (%v)", left, err)
	}
	for _, path := range []string{root, data} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the volume went with its guest: %v", err)
		}
	}
	if n := from.opened.Load(); n != 0 {
		t.Errorf("an image was downloaded %d times", n)
	}
}
