package boot

// What a ramdisk is booted from: its parts are read from where the node's row says, and put
// together, as a medium or as files beside each other.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/iso"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
)

const (
	// maxPart bounds a kernel, a ramdisk or a boot loader.
	maxPart = 2 << 30
	// fetchTime is how long one may take to be read.
	fetchTime = 2 * time.Minute
	// label is by which a ramdisk finds the medium that it was booted from.
	label = "VMEDIA_BOOT_ISO"
)

// The parts, as files in a folder.
const (
	kernelPart     = "kernel"
	ramdiskPart    = "ramdisk"
	bootloaderPart = "bootloader"
)

// make has what a node is booted from be there under a name: build makes it of the parts,
// which are in a folder of their own, and says where in that it is.
func (a *Activities) make(ctx context.Context, name string, from nodes.BootImage, build func(work string) (made string, err error)) (err error) {
	to := filepath.Join(a.Dir, name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	work, err := os.MkdirTemp(a.Dir, unfinished)
	if err != nil {
		return fmt.Errorf("make a boot image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for part, at := range map[string]string{kernelPart: from.Kernel, ramdiskPart: from.Ramdisk, bootloaderPart: from.Bootloader} {
		if at == "" {
			continue
		}
		if err := a.fetch(ctx, at, filepath.Join(work, part)); err != nil {
			return err
		}
	}
	made, err := build(work)
	if err == nil {
		err = os.Rename(made, to)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another attempt has made it meanwhile
		return fmt.Errorf("make a boot image: %w", err)
	}
	return nil
}

// medium makes an image for a drive of the parts in a folder.
func medium(work string, told []string) (made string, err error) {
	files := map[string]iso.Source{"boot/grub/grub.cfg": {Content: []byte(grub("/vmlinuz", "/initrd", told))}}
	for inside, part := range map[string]string{"vmlinuz": kernelPart, "initrd": ramdiskPart, "boot/esp.img": bootloaderPart} {
		files[inside] = iso.Source{Path: filepath.Join(work, part)}
	}
	made = filepath.Join(work, "boot.iso")
	return made, iso.Write(made, iso.Image{Label: label, Files: files, EFI: "boot/esp.img"})
}

// grub is the configuration of that boot loader.
func grub(kernel, ramdisk string, told []string) string {
	return fmt.Sprintf("set default=0\nset timeout=1\nmenuentry \"boot\" {\n    linux %s %s\n    initrd %s\n}\n", kernel, strings.Join(told, " "), ramdisk)
}

// fetch reads a part from where it is into a file. Errors: Invalid, NotFound, Unavailable.
func (a *Activities) fetch(ctx context.Context, at, to string) error {
	id, err := nodes.GlanceImage(at)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make a boot image: %w", err)
	}
	if id != "" {
		err = a.fetchImage(ctx, id, f)
	} else {
		err = a.fetchURL(ctx, at, f)
	}
	return errors.Join(err, f.Close())
}

// fetchImage reads one that Glance has.
func (a *Activities) fetchImage(ctx context.Context, id string, to io.Writer) error {
	image, err := a.Glance.LentImageFile(ctx, id)
	if err != nil {
		return err
	}
	if image.Size > maxPart {
		return faults.New(faults.Invalid, "ImageDownloadFailed", "Failed to download image %s, reason: it is larger than %d bytes", id, int64(maxPart))
	}
	ctx, done := context.WithTimeout(ctx, fetchTime)
	defer done()
	if err := a.images.Copy(ctx, source(id, image), to); err != nil {
		return unread(ctx, id, err)
	}
	return nil
}

// source is an image of Glance as it is read.
func source(id string, f openstack.ImageFile) images.Image {
	return images.Image{ID: id, DiskFormat: f.DiskFormat, Size: f.Size, HashAlgo: f.HashAlgo, HashValue: f.HashValue, Checksum: f.Checksum, URL: f.URL, Token: f.Token}
}

// fetchURL reads one that has an address.
func (a *Activities) fetchURL(ctx context.Context, at string, to io.Writer) (err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return faults.Wrap(err, faults.Invalid, "ImageRefValidationFailed", "Validation of image href %s failed, reason: it is no URL", at)
	}
	client := a.guard.Client()
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return unread(ctx, at, err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	switch code := resp.StatusCode; {
	case code >= 500:
		return faults.New(faults.Unavailable, "ImageDownloadFailed", "Failed to download image %s, reason: status %d", at, code)
	case code != http.StatusOK:
		return faults.New(faults.Invalid, "ImageRefValidationFailed", "Validation of image href %s failed, reason: Got HTTP code %d instead of 200 in response to GET request.", at, code)
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return unread(ctx, at, err)
	}
	return nil
}

func unread(ctx context.Context, at string, err error) error {
	var known *faults.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &known):
		return known
	}
	return faults.Wrap(err, faults.Unavailable, "ImageDownloadFailed", "Failed to download image %s, reason: it could not be reached", at)
}
