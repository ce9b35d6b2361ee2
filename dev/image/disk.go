package image

// The disk: an MBR, a FAT partition that syslinux boots from, an ext4 partition
// for the guest's own data.

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
)

// Sizes and places on the disk, in bytes.
const (
	mib       = 1 << 20
	sector    = 512
	bootStart = 1 * mib
	bootSize  = 39 * mib
	dataStart = bootStart + bootSize
	dataSize  = 24 * mib
	diskSize  = dataStart + dataSize
)

// bootConfig boots at once; the guest's console is the first serial port.
const bootConfig = `DEFAULT holdfast
PROMPT 0
TIMEOUT 0
LABEL holdfast
  LINUX /vmlinuz
  INITRD /initrd.gz
  APPEND console=ttyS0 quiet panic=1 random.trust_cpu=on
`

const mbrCode = "/usr/lib/syslinux/mbr/mbr.bin"

// buildDisk makes the disk in dir and gives the path of the qcow2 file.
func buildDisk(ctx context.Context, k kernel, initramfs, dir string) (string, error) {
	raw, boot, data := filepath.Join(dir, "disk.raw"), filepath.Join(dir, "boot.fat"), filepath.Join(dir, "data.ext4")
	config := filepath.Join(dir, "syslinux.cfg")
	if err := os.WriteFile(config, []byte(bootConfig), 0o644); err != nil {
		return "", fmt.Errorf("test image: %w", err)
	}
	for path, size := range map[string]int64{boot: bootSize, data: dataSize} {
		if err := writeSparse(path, size, nil); err != nil {
			return "", err
		}
	}
	steps := [][]string{
		{"mkfs.fat", "-F", "16", "-n", "HOLDFAST", boot},
		{"syslinux", "--install", boot},
		{"mcopy", "-i", boot, k.image, "::vmlinuz"},
		{"mcopy", "-i", boot, initramfs, "::initrd.gz"},
		{"mcopy", "-i", boot, config, "::syslinux.cfg"},
		{"mke2fs", "-q", "-t", "ext4", "-L", "holdfast-data", data},
	}
	for _, step := range steps {
		if err := run(ctx, dir, step[0], step[1:]...); err != nil {
			return "", err
		}
	}
	mbr, err := masterBootRecord()
	if err != nil {
		return "", err
	}
	if err := writeSparse(raw, diskSize, mbr); err != nil {
		return "", err
	}
	for path, start := range map[string]int{boot: bootStart, data: dataStart} {
		err := run(ctx, dir, "dd", "if="+path, "of="+raw, "bs=1M", fmt.Sprintf("seek=%d", start/mib), "conv=notrunc,sparse", "status=none")
		if err != nil {
			return "", err
		}
	}
	qcow2 := filepath.Join(dir, "disk.qcow2")
	return qcow2, run(ctx, dir, "qemu-img", "convert", "-O", "qcow2", "-c", raw, qcow2)
}

// masterBootRecord has syslinux's code, which starts the active partition, and
// the table of both partitions.
func masterBootRecord() ([]byte, error) {
	code, err := os.ReadFile(mbrCode)
	if err != nil {
		return nil, fmt.Errorf("test image: install the packages in dev/packages.txt: %w", err)
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

// writeSparse makes a file of size bytes that begins with head.
func writeSparse(path string, size int64, head []byte) error {
	if err := os.WriteFile(path, head, 0o644); err != nil {
		return fmt.Errorf("test image: %w", err)
	}
	if err := os.Truncate(path, size); err != nil {
		return fmt.Errorf("test image: %w", err)
	}
	return nil
}
