package image

// The initramfs: busybox, the guest's scripts, and modules.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// busybox is the static one of Debian's busybox-static.
const busybox = "/bin/busybox"

// buttonScript is what busybox's acpid runs for the power button.
const buttonScript = "etc/acpi/PWRF/00000080"

// buildInitramfs fills root and packs it; it gives the path of the archive.
func buildInitramfs(ctx context.Context, k kernel, root string) (string, error) {
	for _, dir := range []string{"bin", "dev", "etc/acpi/PWRF", "media", "modules", "proc", "sys", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", fmt.Errorf("test image: %w", err)
		}
	}
	if err := copyFile(busybox, filepath.Join(root, "bin/busybox"), 0o755); err != nil {
		return "", err
	}
	modules, err := loadOrder(k)
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, module := range modules {
		name := filepath.Base(module)
		if err := copyFile(module, filepath.Join(root, "modules", name), 0o644); err != nil {
			return "", err
		}
		list.WriteString(name + "\n")
	}
	scripts := map[string]string{
		"init":          strings.ReplaceAll(guestInit, "@BANNER@", Banner),
		"etc/udhcpc":    guestDHCP,
		"modules/order": list.String(),
		buttonScript:    guestButton,
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o755); err != nil {
			return "", fmt.Errorf("test image: %w", err)
		}
	}
	archive := root + ".gz"
	return archive, run(ctx, root, "sh", "-c", `find . | sort | cpio --quiet --reproducible -o -H newc | gzip -n > "$1"`, "sh", archive)
}

func copyFile(from, to string, mode os.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("test image: %w", err)
	}
	if err := os.WriteFile(to, content, mode); err != nil {
		return fmt.Errorf("test image: %w", err)
	}
	return nil
}
