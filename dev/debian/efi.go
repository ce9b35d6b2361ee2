package debian

// What EFI starts.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// loaderPackage has a boot loader for EFI; loader is its file that reads
// /boot/grub/grub.cfg of the disk or of the disc that it was started from.
const (
	loaderPackage = "grub-efi-amd64-signed"
	loader        = "usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed"
)

// SystemPartition makes the image of an EFI system partition of a size in a new file, with
// the boot loader and with files: where they are copied from, by their paths in it. The
// loader's package is kept in cache.
func SystemPartition(ctx context.Context, cache, image string, size int64, files map[string]string) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(image), "efi-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	deb, err := fetch(ctx, cache, loaderPackage)
	if err == nil {
		err = unpack(ctx, deb, filepath.Join(work, "package"))
	}
	tree := filepath.Join(work, "tree")
	if err == nil {
		err = Copy(filepath.Join(work, "package", loader), filepath.Join(tree, "EFI/BOOT/BOOTX64.EFI"), 0o644)
	}
	for inside, from := range files {
		if err == nil {
			err = Copy(from, filepath.Join(tree, inside), 0o644)
		}
	}
	if err == nil {
		err = Sparse(image, size, nil)
	}
	if err == nil {
		err = Run(ctx, work, "mkfs.fat", "-F", "16", "-n", "HOLDFAST", image)
	}
	if err == nil {
		err = Run(ctx, tree, "sh", "-c", `mcopy -s -i "$1" * ::`, "sh", image)
	}
	if err != nil {
		return fmt.Errorf("EFI system partition: %w", err)
	}
	return nil
}

// Sparse makes a file of size bytes that begins with head.
func Sparse(path string, size int64, head []byte) error {
	if err := os.WriteFile(path, head, 0o644); err != nil {
		return err
	}
	return os.Truncate(path, size)
}
