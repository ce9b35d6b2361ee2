package iso

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An image is read again by ourselves and by isoinfo, its long names included,
// and lists what a machine can start.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kernel := filepath.Join(dir, "kernel")
	if err := os.WriteFile(kernel, []byte(strings.Repeat("k", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "image.iso")
	err := Write(name, Image{Label: "config-2", Publisher: "somebody", BIOS: "isolinux/isolinux.bin", EFI: "boot/esp.img", Files: map[string]Source{
		"isolinux/isolinux.bin":              {Content: []byte(strings.Repeat("i", 4096))},
		"boot/esp.img":                       {Content: []byte(strings.Repeat("e", 4096))},
		"vmlinuz":                            {Path: kernel},
		"openstack/latest/network_data.json": {Content: []byte("{}")},
		"openstack/latest/user_data":         {Content: []byte{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	label, found, err := Read(name, "vmlinuz", "openstack/latest/network_data.json", "openstack/latest/user_data", "nowhere")
	if err != nil || label != "config-2" || len(found["vmlinuz"]) != 5000 || string(found["openstack/latest/network_data.json"]) != "{}" || len(found) != 3 {
		t.Errorf("%q, %d files, %v", label, len(found), err)
	}
	for flag, want := range map[string][]string{"-d": {"Volume id: config-2", "El Torito VD version 1 found", "Publisher id: somebody"},
		"-Rf": {"/openstack/latest/network_data.json", "/vmlinuz"}} {
		out, err := exec.CommandContext(t.Context(), "isoinfo", flag, "-i", name).CombinedOutput()
		for _, text := range want {
			if err != nil || !strings.Contains(string(out), text) {
				t.Errorf("isoinfo %s: no %q in %s (%v)", flag, text, out, err)
			}
		}
	}
	// The second entry of the catalogue, which is where the boot record says, is EFI's.
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if at := 2048*int(binary.LittleEndian.Uint32(raw[17*2048+0x47:])) + 64; raw[at] != 0x91 || raw[at+1] != 0xef {
		t.Errorf("the catalogue goes on with % x", raw[at:at+2])
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestWhatIsNoImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "image.iso")
	for _, files := range []map[string]Source{{"../out": {}}, {"/out": {}}, {"kernel": {Path: filepath.Join(dir, "nowhere")}}} {
		if err := Write(name, Image{Label: "x", Files: files}); err == nil {
			t.Errorf("%v was written", files)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := os.WriteFile(name, []byte(strings.Repeat("garbage", 20000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, Image{Label: "x"}); err == nil {
		t.Error("a file that was there was written")
	}
	if _, _, err := Read(name); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("garbage was read, or is gone: %v", err)
	}
}
