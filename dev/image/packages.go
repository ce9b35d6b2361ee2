package image

// Fetching and unpacking the kernel's package.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// kernel is an unpacked kernel package.
type kernel struct {
	image   string // path of vmlinuz
	modules string // folder lib/modules/<release>
}

var kernelDependency = regexp.MustCompile(`Depends: (linux-image-[^ ]+-cloud-amd64)`)

// fetchKernel downloads the kernel's package into cache, unless it is there,
// and unpacks it into dir.
func fetchKernel(ctx context.Context, cache, dir string) (kernel, error) {
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", kernelPackage).Output()
	if err != nil {
		return kernel{}, fmt.Errorf("test image: apt-cache depends %s: %w", kernelPackage, err)
	}
	found := kernelDependency.FindSubmatch(out)
	if found == nil {
		return kernel{}, fmt.Errorf("test image: package %s is unknown: run apt-get update", kernelPackage)
	}
	name := string(found[1])
	deb, err := one(filepath.Join(cache, name+"_*.deb"))
	if err != nil {
		if err := run(ctx, cache, "apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name); err != nil {
			return kernel{}, err
		}
		if deb, err = one(filepath.Join(cache, name+"_*.deb")); err != nil {
			return kernel{}, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return kernel{}, fmt.Errorf("test image: %w", err)
	}
	if err := run(ctx, dir, "dpkg", "-x", deb, dir); err != nil {
		return kernel{}, err
	}
	var k kernel
	if k.image, err = one(filepath.Join(dir, "boot/vmlinuz-*")); err != nil {
		return kernel{}, err
	}
	k.modules, err = one(filepath.Join(dir, "lib/modules/*"))
	return k, err
}

// one gives the only path that matches, or the last of several.
func one(pattern string) (string, error) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("test image: %w", err)
	}
	if len(matches) == 0 {
		return "", fmt.Errorf("test image: there is no %s", pattern)
	}
	return matches[len(matches)-1], nil
}
