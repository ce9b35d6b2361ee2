package qemu

// Disks that go from host to host: which files they are, and what is done to
// them where they have come to.

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// Disks says which files a guest is kept in: its disks and the base that the
// root disk lies on.
func (d *Driver) Disks(_ context.Context, serverID string) (hostlink.GuestDisks, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return hostlink.GuestDisks{}, err
	}
	entries, err := os.ReadDir(g.dir)
	if os.IsNotExist(err) {
		return hostlink.GuestDisks{}, notFound(serverID)
	}
	if err != nil {
		return hostlink.GuestDisks{}, broken(err)
	}
	disks := hostlink.GuestDisks{Folder: g.dir}
	for _, entry := range entries {
		name := entry.Name()
		if isDisk(name) {
			disks.Names = append(disks.Names, name)
		}
	}
	return disks, nil
}

// isDisk says that a file of a guest's folder is one that the guest has, or its base.
func isDisk(name string) bool {
	return slices.Contains([]string{baseFile, rootFile, swapFile, configFile}, name) || strings.HasPrefix(name, "disk.eph")
}

// Receive has the folder filled, then lays the root disk on the base beside it,
// wherever the source had that, and grows it.
func (d *Driver) Receive(ctx context.Context, spec steps.ServerSpec, fill func(context.Context, string) error) error {
	g, err := d.guest(spec.ServerID)
	if err != nil {
		return err
	}
	return g.steps(ctx,
		subStep{"receive.folder", func(context.Context) error { return g.open(spec) }},
		subStep{"receive.disks", func(ctx context.Context) error { return fill(ctx, g.dir) }},
		subStep{"receive.base", g.rebase},
		subStep{"receive.grow", func(ctx context.Context) error { return g.grow(ctx, spec) }},
		subStep{"receive.done", nil},
	)
}

// rebase has the root disk say that its base is beside it, whatever it said where
// it comes from; what is in both stays.
func (g *guest) rebase(ctx context.Context) error {
	for _, name := range []string{rootFile, baseFile} {
		if there, err := exists(g.file(name)); !there || err != nil {
			return err
		}
	}
	return images.QemuImg(ctx, "rebase", "-u", "-f", "qcow2", "-F", "raw", "-b", baseFile, g.file(rootFile))
}

// grow makes the root disk as large as the spec has it; as large already is as
// good, and a smaller one is refused by qemu-img.
func (g *guest) grow(ctx context.Context, spec steps.ServerSpec) error {
	for _, disk := range spec.LocalDisks() {
		there, err := exists(g.file(rootFile))
		if err != nil || !there || disk.Kind != steps.DiskRoot || disk.SizeMB == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if err := images.QemuImg(ctx, "resize", "-q", "-f", "qcow2", g.file(rootFile), strconv.FormatInt(int64(disk.SizeMB)*mib, 10)); err != nil {
			return err
		}
	}
	return nil
}
