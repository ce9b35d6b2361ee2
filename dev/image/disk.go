package image

// The disk: a table, a FAT partition that is booted from, an ext4 partition for the
// guest's own data.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/diskfs/go-diskfs/partition/gpt"

	"holdfast.dev/dev/debian"
)

// Sizes and places on the disk, in bytes.
const (
	mib       = 1 << 20
	sector    = 512
	bootStart = 1 * mib
	bootSize  = 39 * mib
	dataStart = bootStart + bootSize
	dataSize  = 24 * mib
	// end has the second copy of a table that has one.
	end = 1 * mib
)

// words are what the kernel is told: the guest's console is the first serial port.
const words = "console=ttyS0 quiet panic=1 random.trust_cpu=on"

// firmware is what starts the disk.
type firmware struct {
	// name is part of the image's.
	name string
	// config is the boot loader's, which boots at once.
	config string
	// boot makes the partition that is booted from, with kernel, initial file system and
	// config; cache keeps packages.
	boot func(ctx context.Context, cache, partition, kernel, initramfs, config string) error
	// size is the disk's, and table writes its table of partitions.
	size  int64
	table func(raw string, size int64) error
}

var byBIOS = firmware{
	config: "DEFAULT holdfast\nPROMPT 0\nTIMEOUT 0\nLABEL holdfast\n  LINUX /vmlinuz\n  INITRD /initrd.gz\n  APPEND " + words + "\n",
	boot: func(ctx context.Context, _, partition, kernel, initramfs, config string) error {
		if err := debian.Sparse(partition, bootSize, nil); err != nil {
			return err
		}
		for _, step := range [][]string{
			{"mkfs.fat", "-F", "16", "-n", "HOLDFAST", partition},
			{"syslinux", "--install", partition},
			{"mcopy", "-i", partition, kernel, "::vmlinuz"},
			{"mcopy", "-i", partition, initramfs, "::initrd.gz"},
			{"mcopy", "-i", partition, config, "::syslinux.cfg"},
		} {
			if err := debian.Run(ctx, filepath.Dir(partition), step[0], step[1:]...); err != nil {
				return err
			}
		}
		return nil
	},
	size: dataStart + dataSize,
	table: func(raw string, size int64) error {
		record, err := masterBootRecord()
		if err != nil {
			return err
		}
		return debian.Sparse(raw, size, record)
	},
}

var byEFI = firmware{
	name:   "efi-",
	config: "linux /vmlinuz " + words + "\ninitrd /initrd.gz\nboot\n",
	boot: func(ctx context.Context, cache, partition, kernel, initramfs, config string) error {
		return debian.SystemPartition(ctx, cache, partition, bootSize, map[string]string{"vmlinuz": kernel, "initrd.gz": initramfs, "boot/grub/grub.cfg": config})
	},
	size: dataStart + dataSize + end,
	table: func(raw string, size int64) (err error) {
		if err := debian.Sparse(raw, size, nil); err != nil {
			return err
		}
		disk, err := os.OpenFile(raw, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, disk.Close()) }()
		return (&gpt.Table{ProtectiveMBR: true, LogicalSectorSize: sector, PhysicalSectorSize: sector, Partitions: []*gpt.Partition{
			{Index: 1, Start: bootStart / sector, End: dataStart/sector - 1, Type: gpt.EFISystemPartition, Name: "boot"},
			{Index: 2, Start: dataStart / sector, End: (dataStart+dataSize)/sector - 1, Type: gpt.LinuxFilesystem, Name: "data"},
		}}).Write(disk, size)
	},
}

// buildDisk makes the disk in work and gives the path of the qcow2 file.
func buildDisk(ctx context.Context, cache string, k debian.Kernel, initramfs, work string, by firmware) (string, error) {
	raw, boot, data := filepath.Join(work, "disk.raw"), filepath.Join(work, "boot.fat"), filepath.Join(work, "data.ext4")
	const config = "boot.cfg"
	err := debian.Write(work, map[string]string{config: by.config}, 0o644)
	if err == nil {
		err = by.boot(ctx, cache, boot, k.Image, initramfs, filepath.Join(work, config))
	}
	if err == nil {
		err = debian.Sparse(data, dataSize, nil)
	}
	if err == nil {
		err = debian.Run(ctx, work, "mke2fs", "-q", "-t", "ext4", "-L", "holdfast-data", data)
	}
	if err == nil {
		err = by.table(raw, by.size)
	}
	for path, start := range map[string]int{boot: bootStart, data: dataStart} {
		if err == nil {
			err = debian.Run(ctx, work, "dd", "if="+path, "of="+raw, "bs=1M", fmt.Sprintf("seek=%d", start/mib), "conv=notrunc,sparse", "status=none")
		}
	}
	if err != nil {
		return "", err
	}
	qcow2 := filepath.Join(work, "disk.qcow2")
	return qcow2, debian.Run(ctx, work, "qemu-img", "convert", "-O", "qcow2", "-c", raw, qcow2)
}

const mbrCode = "/usr/lib/syslinux/mbr/mbr.bin"

// masterBootRecord has syslinux's code, which starts the active partition, and
// the table of both partitions.
func masterBootRecord() ([]byte, error) {
	code, err := os.ReadFile(mbrCode)
	if err != nil {
		return nil, fmt.Errorf("install the packages in dev/packages.txt: %w", err)
	}
	record := make([]byte, sector)
	copy(record[:440], code)
	partition := func(i int, status, kind byte, start, size int) {
		entry := record[446+16*i:]
		entry[0], entry[4] = status, kind
		binary.LittleEndian.PutUint32(entry[8:], uint32(start/sector))
		binary.LittleEndian.PutUint32(entry[12:], uint32(size/sector))
	}
	partition(0, 0x80, 0x0e, bootStart, bootSize) // active, FAT16 by LBA
	partition(1, 0, 0x83, dataStart, dataSize)    // Linux
	record[510], record[511] = 0x55, 0xaa
	return record, nil
}
