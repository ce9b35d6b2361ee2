package qemu

// The guest's disks: made here, listed for its domain.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// linkBase brings the image's base into the folder.
func (g *guest) linkBase(ctx context.Context, spec steps.ServerSpec) error {
	if spec.ImageID == "" {
		return nil
	}
	return g.make(baseFile, func(path string) error {
		return g.driver.cache.Link(ctx, g.id, path, func(virtual int64) error { return fits(spec, virtual) })
	})
}

// fits refuses an image that is larger than the flavor's root disk; a flavor
// without one takes the image's size.
func fits(spec steps.ServerSpec, virtual int64) error {
	if room := int64(spec.RootGB) * gib; spec.RootGB > 0 && virtual > room {
		return faults.New(faults.Invalid, "FlavorDiskSmallerThanImage",
			"Flavor's disk is too small for requested image. Flavor disk is %d bytes, image is %d bytes.", room, virtual)
	}
	return nil
}

// makeDisks makes the disks on the host.
func (g *guest) makeDisks(ctx context.Context, spec steps.ServerSpec) error {
	ephemerals := 0
	for _, disk := range spec.LocalDisks() {
		var err error
		switch disk.Kind {
		case steps.DiskRoot:
			err = g.makeRoot(ctx, disk)
		case steps.DiskEphemeral:
			err = g.makeEphemeral(ctx, ephemerals, disk)
			ephemerals++
		case steps.DiskSwap:
			err = g.makeSwap(ctx, disk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeRoot makes the overlay that the guest writes to.
func (g *guest) makeRoot(ctx context.Context, disk steps.Disk) error {
	return g.make(rootFile, func(path string) error {
		args := []string{"create", "-q", "-f", "qcow2", "-F", "raw", "-b", baseFile, path}
		if disk.SizeMB > 0 {
			args = append(args, strconv.FormatInt(int64(disk.SizeMB)*mib, 10))
		}
		return images.QemuImg(ctx, args...)
	})
}

// fileSystems are the programs that make those that an ephemeral disk may have.
var fileSystems = map[string]string{"": "mkfs.ext4", "ext4": "mkfs.ext4", "ext3": "mkfs.ext3", "ext2": "mkfs.ext2"}

// makeEphemeral makes an empty disk, with a file system and a label as Nova makes
// them.
func (g *guest) makeEphemeral(ctx context.Context, n int, disk steps.Disk) error {
	program, ok := fileSystems[disk.Format]
	if !ok {
		return faults.New(faults.Invalid, "InvalidFormat", "a host can't make a file system %q on an ephemeral disk", disk.Format)
	}
	return g.make(ephemeralFile(n), func(path string) error {
		if err := sparse(path, int64(disk.SizeMB)*mib); err != nil {
			return err
		}
		return run(ctx, program, "-q", "-F", "-L", fmt.Sprint("ephemeral", n), path)
	})
}

// makeSwap makes the swap disk.
func (g *guest) makeSwap(ctx context.Context, disk steps.Disk) error {
	return g.make(swapFile, func(path string) error {
		if err := sparse(path, int64(disk.SizeMB)*mib); err != nil {
			return err
		}
		return run(ctx, "mkswap", path)
	})
}

// sparse makes a file that takes no room yet.
func sparse(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return broken(err)
	}
	if err := file.Truncate(size); err != nil {
		file.Close()
		return broken(err)
	}
	return broken(file.Close())
}

const (
	// toolTime bounds a program that makes one of a guest's files, copyTime one that
	// copies a disk.
	toolTime = 2 * time.Minute
	copyTime = 2 * time.Hour
)

// run runs a program of the host.
func run(ctx context.Context, name string, args ...string) error {
	return runFor(ctx, toolTime, name, args...)
}

func runFor(ctx context.Context, limit time.Duration, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.WaitDelay = time.Second
	said, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return faults.Wrap(fmt.Errorf("%s: %w: %.1000s", name, err, said), faults.Unavailable, "HostTool", "%s failed on the host", name)
	}
	return nil
}

// disks lists what the domain has: the one to boot from first, the config drive
// last.
func (g *guest) disks(ctx context.Context, spec steps.ServerSpec) ([]domain.Disk, error) {
	volumes, err := g.volumes(ctx, spec)
	if err != nil {
		return nil, err
	}
	var first, rest []domain.Disk
	for i, v := range spec.Volumes {
		if v.Boot {
			first = append(first, volumes[i])
		} else {
			rest = append(rest, volumes[i])
		}
	}
	all := slices.Concat(first, g.localDisks(spec), rest)
	if spec.ConfigDrive {
		all = append(all, domain.Disk{Path: g.file(configFile), Format: "raw", CDROM: true})
	}
	return all, nil
}

// localDisks are those that makeDisks has made.
func (g *guest) localDisks(spec steps.ServerSpec) (disks []domain.Disk) {
	ephemerals := 0
	for _, d := range spec.LocalDisks() {
		disk := domain.Disk{Format: "raw", Name: d.Device, Bus: d.Bus}
		switch d.Kind {
		case steps.DiskRoot:
			disk.Path, disk.Format = g.file(rootFile), "qcow2"
		case steps.DiskEphemeral:
			disk.Path = g.file(ephemeralFile(ephemerals))
			ephemerals++
		case steps.DiskSwap:
			disk.Path = g.file(swapFile)
		}
		disks = append(disks, disk)
	}
	return disks
}

// volumes asks how each of the spec's volumes is reached.
func (g *guest) volumes(ctx context.Context, spec steps.ServerSpec) ([]domain.Disk, error) {
	if len(spec.Volumes) == 0 {
		return nil, nil
	}
	answer, err := g.driver.servers.Volumes(ctx, g.id)
	if err != nil {
		return nil, err
	}
	connections := map[string]hostlink.Connection{}
	for _, c := range answer.Connections {
		connections[c.VolumeID] = c
	}
	all := make([]domain.Disk, len(spec.Volumes))
	for i, v := range spec.Volumes {
		c, ok := connections[v.ID]
		if !ok {
			return nil, faults.New(faults.Unavailable, "VolumeNotConnected", "volume %s has no connection to this host", v.ID)
		}
		disk, err := diskOf(c)
		if err != nil {
			return nil, err
		}
		disk.Name, disk.Bus, disk.CDROM = v.Device, v.Bus, v.CDROM
		disk.Serial, disk.ReadOnly, disk.Shareable = v.ID, v.ReadOnly || disk.ReadOnly, v.Shared
		all[i] = disk
	}
	return all, nil
}

// diskOf reads a connection of type "local" or "file": a path of this host.
func diskOf(c hostlink.Connection) (domain.Disk, error) {
	var data struct {
		DevicePath string `json:"device_path"`
		FilePath   string `json:"file_path"`
		Format     string `json:"format"`
		AccessMode string `json:"access_mode"`
	}
	if err := json.Unmarshal(c.Data, &data); err != nil {
		return domain.Disk{}, faults.Wrap(err, faults.Invalid, "InvalidVolume", "the connection of volume %s can't be read", c.VolumeID)
	}
	if data.DevicePath == "" {
		data.DevicePath = data.FilePath
	}
	if data.Format == "" {
		data.Format = "raw"
	}
	if c.DriverType != "local" && c.DriverType != "file" || data.DevicePath == "" || data.Format != "raw" && data.Format != "qcow2" {
		return domain.Disk{}, faults.New(faults.Invalid, "InvalidVolume", "a host can't connect volume %s of type %q", c.VolumeID, c.DriverType)
	}
	info, err := os.Stat(data.DevicePath)
	if err != nil {
		return domain.Disk{}, faults.Wrap(err, faults.Unavailable, "VolumeNotConnected", "volume %s is not on this host", c.VolumeID)
	}
	return domain.Disk{Path: data.DevicePath, Format: data.Format, Block: info.Mode()&os.ModeDevice != 0, ReadOnly: data.AccessMode == "ro"}, nil
}
