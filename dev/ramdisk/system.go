package ramdisk

// The system of the ramdisk: what is in it and what isn't, and how it is put together.

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast.dev/dev/debian"
)

// kernelPackage has drivers for machines and not only for clouds' guests.
const kernelPackage = "linux-image-amd64"

// packages are what the agent runs on, and the tools that it calls.
var packages = []string{
	"busybox-static", "coreutils", "dmidecode", "dosfstools", "e2fsprogs", "efibootmgr", "gdisk", "hdparm", "iproute2", "kmod", "libc-bin",
	"lshw", "mdadm", "mount", "parted", "psmisc", "python3", "qemu-utils", "udev", "util-linux",
}

// without are packages that those depend on for what is never done here: to be installed,
// and to have users.
var without = []string{
	"adduser", "debconf", "dpkg", "init-system-helpers", "libdb5.3", "libncursesw6", "libnsl2", "libpam-modules", "libpam-runtime", "libpam0g",
	"libsqlite3-0", "libtirpc3", "logsave", "lsb-base", "media-types", "passwd", "perl", "perl-base", "readline-common", "sysvinit-utils", "tar", "usrmerge",
}

// modules are the kernel's: buses, disks, networks and file systems.
var modules = []string{
	"virtio_pci", "virtio_blk", "virtio_scsi", "virtio_net", "virtio-rng", "e1000", "e1000e", "igb", "ahci", "ata_piix", "nvme", "xhci-pci", "usb-storage",
	"sd_mod", "sr_mod", "isofs", "vfat", "nls_cp437", "nls_ascii", "nls_utf8", "ext4", "efivarfs", "loop", "raid0", "raid1", "ipmi_si", "ipmi_devintf", "button",
}

// unread are files that nobody reads there.
var unread = []string{
	"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian", "usr/share/bash-completion",
	"usr/lib/x86_64-linux-gnu/gconv", "lib/udev/hwdb.d", "usr/bin/qemu-io", "usr/bin/qemu-nbd",
	"usr/lib/python3.11/idlelib", "usr/lib/python3.11/lib2to3", "usr/lib/python3.11/pydoc_data", "usr/lib/python3.11/test",
}

//go:embed files agent.txt
var sources embed.FS

// places are where the files of this package go.
var places = map[string]string{"files/init": "init", "files/group": "etc/group"}

// texts are small files of the system.
var texts = map[string]string{
	"etc/passwd":                  "root:x:0:0:root:/root:/bin/sh\n",
	"etc/hosts":                   "127.0.0.1 localhost\n::1 localhost\n",
	"etc/udhcpc":                  debian.DHCPScript,
	"usr/bin/ironic-python-agent": "#!/usr/bin/python3\nfrom ironic_python_agent.cmd.agent import run\nrun()\n",
}

// sitePackages is where Debian's Python finds what isn't its own.
const sitePackages = "usr/lib/python3/dist-packages"

// assemble fills root, which isn't there yet.
func assemble(ctx context.Context, root string, k debian.Kernel) error {
	if err := debian.System(ctx, root, packages, without); err != nil {
		return err
	}
	for _, name := range unread {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"dev", "proc", "root", "run", "sys", "tmp", "var/log"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	all, err := allTexts()
	if err != nil {
		return err
	}
	if err := debian.Write(root, all, 0o755); err != nil {
		return err
	}
	for name, to := range map[string]string{"bin/sh": "busybox", "etc/mtab": "/proc/self/mounts"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := putModules(ctx, root, k); err != nil {
		return err
	}
	return putAgent(ctx, root)
}

// allTexts are the small files by their places.
func allTexts() (map[string]string, error) {
	all := map[string]string{}
	for name, text := range texts {
		all[name] = text
	}
	for name, to := range places {
		text, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[to] = string(text)
	}
	return all, nil
}

// putModules copies the kernel's modules, and has kmod know them.
func putModules(ctx context.Context, root string, k debian.Kernel) error {
	wanted, err := k.LoadOrder(modules)
	if err != nil {
		return err
	}
	for _, list := range []string{"modules.order", "modules.builtin", "modules.builtin.modinfo"} {
		wanted = append(wanted, filepath.Join(k.Modules, list))
	}
	release := filepath.Base(k.Modules)
	for _, file := range wanted {
		inside, err := filepath.Rel(k.Modules, file)
		if err != nil {
			return err
		}
		if err := debian.Copy(file, filepath.Join(root, "lib/modules", release, inside), 0o644); err != nil {
			return err
		}
	}
	return debian.Run(ctx, root, "chroot", root, "/sbin/depmod", "-a", release)
}

// putAgent installs the agent for the system's Python, and compiles what that runs: a
// machine that is emulated would need minutes for it.
func putAgent(ctx context.Context, root string) error {
	work := filepath.Dir(root)
	list, err := sources.ReadFile("agent.txt")
	if err != nil {
		return err
	}
	if err := debian.Write(work, map[string]string{"agent.txt": string(list)}, 0o644); err != nil {
		return err
	}
	for _, step := range [][]string{
		{"python3", "-m", "venv", "python"},
		{"python/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11",
			"--target", filepath.Join(root, sitePackages), "--requirement", "agent.txt"},
		{"chroot", root, "/usr/bin/python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/usr/lib/python3.11", "/" + sitePackages},
		{"chroot", root, "/sbin/ldconfig"},
	} {
		if err := debian.Run(ctx, work, step[0], step[1:]...); err != nil {
			return err
		}
	}
	return nil
}
