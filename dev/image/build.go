package image

// Build: from Debian packages to a disk that boots.

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/dev/debian"
)

// Banner is the first line that the guest writes to its serial console.
const Banner = "HOLDFAST TEST GUEST 1"

// Properties are the image properties that the guest needs: its kernel has no
// driver for SATA or IDE, so disks are virtio and CD-ROMs virtio-scsi.
var Properties = map[string]string{
	"hw_disk_bus":   "virtio",
	"hw_cdrom_bus":  "scsi",
	"hw_scsi_model": "virtio-scsi",
	"hw_vif_model":  "virtio",
	"hw_rng_model":  "virtio",
	"os_distro":     "holdfast-test",
}

//go:embed guest/init
var guestInit string

//go:embed guest/powerbutton
var guestButton string

// kernelPackage names the package with the kernel; it depends on the one that
// has the files.
const kernelPackage = "linux-image-cloud-amd64"

// wantedModules are named as their files are. What a module depends on comes
// with it.
var wantedModules = []string{
	"virtio_pci", "virtio_blk", "virtio_scsi", "virtio_net", "virtio-rng", "virtio_balloon",
	"sd_mod", "sr_mod", "isofs", "vfat", "nls_cp437", "nls_ascii",
	"button", "evdev",
}

// Build makes the image in dir and gives the path of the qcow2 file. One that
// was made there from the same guest files is used again; dir also keeps the
// packages that were fetched.
func Build(ctx context.Context, dir string) (path string, err error) { return build(ctx, dir, byBIOS) }

// BuildEFI is Build for machines that start by EFI.
func BuildEFI(ctx context.Context, dir string) (path string, err error) {
	return build(ctx, dir, byEFI)
}

func build(ctx context.Context, dir string, by firmware) (path string, err error) {
	path = filepath.Join(dir, "holdfast-test-"+by.name+fingerprint(by)+".qcow2")
	if err = os.MkdirAll(dir, 0o755); err == nil {
		err = buildAt(ctx, dir, path, by)
	}
	if err != nil {
		return "", fmt.Errorf("test image: %w", err)
	}
	return path, nil
}

func buildAt(ctx context.Context, dir, path string, by firmware) (err error) {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	kernel, err := debian.FetchKernel(ctx, dir, filepath.Join(work, "kernel"), kernelPackage)
	if err != nil {
		return err
	}
	initramfs, err := buildInitramfs(ctx, kernel, filepath.Join(work, "initramfs"))
	if err != nil {
		return err
	}
	disk, err := buildDisk(ctx, dir, kernel, initramfs, work, by)
	if err != nil {
		return err
	}
	// Renamed when complete, so that a build that was cut short leaves no image.
	return os.Rename(disk, path)
}

// fingerprint names what the image is made from, packages aside.
func fingerprint(by firmware) string {
	sum := sha256.Sum256([]byte(Banner + guestInit + debian.DHCPScript + guestButton + by.config + strings.Join(wantedModules, " ")))
	return hex.EncodeToString(sum[:6])
}
