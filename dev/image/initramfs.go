package image

// The initramfs: busybox, the guest's scripts, and modules.

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/dev/debian"
)

// buttonScript is what busybox's acpid runs for the power button.
const buttonScript = "etc/acpi/PWRF/00000080"

// buildInitramfs fills root and packs it; it gives the path of the archive.
func buildInitramfs(ctx context.Context, k debian.Kernel, root string) (string, error) {
	for _, dir := range []string{"dev", "media", "proc", "sys", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
	}
	if err := debian.Copy(debian.Busybox, filepath.Join(root, "bin/busybox"), 0o755); err != nil {
		return "", err
	}
	modules, err := k.LoadOrder(wantedModules)
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, module := range modules {
		name := filepath.Base(module)
		if err := debian.Copy(module, filepath.Join(root, "modules", name), 0o644); err != nil {
			return "", err
		}
		list.WriteString(name + "\n")
	}
	err = debian.Write(root, map[string]string{
		"init":          strings.ReplaceAll(guestInit, "@BANNER@", Banner),
		"etc/udhcpc":    debian.DHCPScript,
		"modules/order": list.String(),
		buttonScript:    guestButton,
	}, 0o755)
	if err != nil {
		return "", err
	}
	archive := root + ".gz"
	return archive, debian.Pack(ctx, root, archive, "gzip -n")
}
