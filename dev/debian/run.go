package debian

// Tools that are run, and files that are copied.

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Busybox is the static one of the package busybox-static.
const Busybox = "/bin/busybox"

// DHCPScript is what a busybox's udhcpc calls when it has a lease.
//
//go:embed udhcpc
var DHCPScript string

// Run runs a tool in dir; its output is part of the error.
func Run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MTOOLS_SKIP_CHECK=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is missing: install the packages in dev/packages.txt", name)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Write writes files below dir by their paths there, and the folders that they are in.
func Write(dir string, files map[string]string, mode os.FileMode) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// Copy copies a file, and makes the folder that it goes to.
func Copy(from, to string, mode os.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return Write(filepath.Dir(to), map[string]string{filepath.Base(to): string(content)}, mode)
}

// Pack packs a folder as a kernel takes its initial file system, through a command that
// compresses it.
func Pack(ctx context.Context, root, archive, compress string) error {
	return Run(ctx, root, "sh", "-c", `find . | LC_ALL=C sort | cpio --quiet --reproducible -o -H newc | `+compress+` > "$1"`, "sh", archive)
}
