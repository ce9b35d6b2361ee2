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
	"os/exec"
	"path/filepath"
	"strings"
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

//go:embed guest/udhcpc
var guestDHCP string

//go:embed guest/powerbutton
var guestButton string

// kernelPackage names the package with the kernel; it depends on the one that
// has the files.
const kernelPackage = "linux-image-cloud-amd64"

// Build makes the image in dir and gives the path of the qcow2 file. One that
// was made there from the same guest files is used again; dir also keeps the
// packages that were fetched.
func Build(ctx context.Context, dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("test image: %w", err)
	}
	path = filepath.Join(dir, "holdfast-test-"+fingerprint()+".qcow2")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", fmt.Errorf("test image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	kernel, err := fetchKernel(ctx, dir, filepath.Join(work, "kernel"))
	if err != nil {
		return "", err
	}
	initramfs, err := buildInitramfs(ctx, kernel, filepath.Join(work, "initramfs"))
	if err != nil {
		return "", err
	}
	disk, err := buildDisk(ctx, kernel, initramfs, work)
	if err != nil {
		return "", err
	}
	// Renamed when complete, so that a build that was cut short leaves no image.
	if err := os.Rename(disk, path); err != nil {
		return "", fmt.Errorf("test image: %w", err)
	}
	return path, nil
}

// fingerprint names what the image is made from, packages aside.
func fingerprint() string {
	sum := sha256.Sum256([]byte(Banner + guestInit + guestDHCP + guestButton + bootConfig + strings.Join(wantedModules, " ")))
	return hex.EncodeToString(sum[:6])
}

// run runs a tool in dir; its output is part of the error.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MTOOLS_SKIP_CHECK=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("test image: %s is missing: install the packages in dev/packages.txt", name)
	}
	if err != nil {
		return fmt.Errorf("test image: %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
