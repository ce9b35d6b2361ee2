package boot

// A ramdisk's medium: its parts are read from where the node's row says, and put
// together.

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// make puts the medium together, unless it is there.
func (a *Activities) make(ctx context.Context, name string, from nodes.BootImage, told []string) (err error) {
	to := filepath.Join(a.Dir, name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	work, err := os.MkdirTemp(a.Dir, unfinished)
	if err != nil {
		return fmt.Errorf("make a boot image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	files := map[string]iso.Source{"boot/grub/grub.cfg": {Content: []byte(grub(told))}}
	for inside, at := range map[string]string{"vmlinuz": from.Kernel, "initrd": from.Ramdisk, "boot/esp.img": from.Bootloader} {
		part := filepath.Join(work, filepath.Base(inside))
		if err := a.fetch(ctx, at, part); err != nil {
			return err
		}
		files[inside] = iso.Source{Path: part}
	}
	made := filepath.Join(work, "boot.iso")
	if err := iso.Write(made, iso.Image{Label: label, Files: files, EFI: "boot/esp.img"}); err != nil {
		return err
	}
	if err := os.Rename(made, to); err != nil {
		return fmt.Errorf("make a boot image: %w", err)
	}
	return nil
}

// grub is the configuration of the boot loader.
func grub(told []string) string {
	return fmt.Sprintf("set default=0\nset timeout=1\nmenuentry \"boot\" {\n    linux /vmlinuz %s\n    initrd /initrd\n}\n", strings.Join(told, " "))
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
