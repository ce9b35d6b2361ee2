package debian

// Packages, fetched and unpacked: single ones, and whole systems of them.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// fetch downloads a package into cache, unless it is there, and gives its file.
func fetch(ctx context.Context, cache, name string) (deb string, err error) {
	pattern := filepath.Join(cache, name+"_*.deb")
	if deb, err = one(pattern); err == nil {
		return deb, nil
	}
	if err := Run(ctx, cache, "apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name); err != nil {
		return "", err
	}
	return one(pattern)
}

// unpack puts a package's files below dir.
func unpack(ctx context.Context, deb, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return Run(ctx, dir, "dpkg", "-x", deb, dir)
}

// Kernel is an unpacked kernel package.
type Kernel struct {
	Image   string // path of vmlinuz
	Modules string // folder lib/modules/<release>
}

var kernelDependency = regexp.MustCompile(`Depends: (linux-image-[0-9][^ ]*-amd64)`)

// FetchKernel downloads a kernel's package into cache, unless it is there, and unpacks it
// into dir. It is called by the package that depends on the one that has the files.
func FetchKernel(ctx context.Context, cache, dir, name string) (Kernel, error) {
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", name).Output()
	if err != nil {
		return Kernel{}, fmt.Errorf("apt-cache depends %s: %w", name, err)
	}
	found := kernelDependency.FindSubmatch(out)
	if found == nil {
		return Kernel{}, fmt.Errorf("package %s is unknown: run apt-get update", name)
	}
	deb, err := fetch(ctx, cache, string(found[1]))
	if err == nil {
		err = unpack(ctx, deb, dir)
	}
	if err != nil {
		return Kernel{}, err
	}
	var k Kernel
	if k.Image, err = one(filepath.Join(dir, "boot/vmlinuz-*")); err != nil {
		return Kernel{}, err
	}
	k.Modules, err = one(filepath.Join(dir, "lib/modules/*"))
	return k, err
}

// System unpacks packages below root, and what they depend on without those that are
// named; no script of a package is run.
func System(ctx context.Context, root string, packages, without []string) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(root), "packages-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	var installed strings.Builder
	for _, name := range without {
		fmt.Fprintf(&installed, "Package: %s\nStatus: install ok installed\nVersion: 9999\nArchitecture: amd64\nMulti-Arch: foreign\nMaintainer: nobody\nDescription: not needed\n\n", name)
	}
	config := fmt.Sprintf("Dir::State::status %q;\nDir::Cache %q;\nAPT::Install-Recommends \"false\";\nAPT::Sandbox::User \"root\";\n", filepath.Join(work, "status"), work)
	if err := Write(work, map[string]string{"status": installed.String(), "apt.conf": config}, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(work, "archives/partial"), 0o755); err != nil {
		return err
	}
	args := append([]string{"-c", filepath.Join(work, "apt.conf"), "-y", "-qq", "--download-only", "install"}, packages...)
	if err := Run(ctx, work, "apt-get", args...); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(work, "archives/*.deb"))
	for _, deb := range debs {
		if err == nil {
			err = unpack(ctx, deb, root)
		}
	}
	return err
}

// one gives the only path that matches, or the last of several.
func one(pattern string) (string, error) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(matches) == 0 {
		return "", fmt.Errorf("there is no %s", pattern)
	}
	return matches[len(matches)-1], nil
}
