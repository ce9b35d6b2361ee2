// Package image builds the test image: a disk of 64 MiB that boots to a banner on the
// serial console within seconds, even without KVM. It is made from Debian packages alone:
// the cloud kernel, a busybox, a boot loader.
//
//	partition 1  FAT: boot loader, kernel, initramfs
//	partition 2  ext4, holdfast-data: what the guest keeps, such as records
//
// What the guest does stands in guest/init. Build makes it for a BIOS, BuildEFI for EFI;
// the files beside them are their steps: initramfs.go, disk.go. The image then goes to the
// image service like any other.
package image
