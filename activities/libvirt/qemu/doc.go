// Package qemu is the libvirt.Driver of real guests: QEMU under a libvirtd on
// this machine, with KVM where it works and emulated where it doesn't.
//
// A guest is a domain of libvirtd and a folder guests/<server id> in the host's
// state folder, which is made first and removed last:
//
//	guest.json     the spec it was built from, and the reboot it last had
//	base.raw       a hard link to its image's base (package images)
//	disk           the root disk, an overlay over the base
//	disk.eph0      ephemeral disk, disk.swap swap, disk.config config drive
//	console.log    what it writes to its serial port, kept by virtlogd
//
// Every act is a row of sub-steps (substeps.go) that look before they act, so
// that one that was killed anywhere can be run again. What is written is
// written under another name first and renamed. connection.go speaks with
// libvirtd; package domain writes the XML.
//
// The worker runs as root in libvirtd's network namespace: it makes bridges and
// reads virtlogd's files. QEMU's user has to reach the state folder.
package qemu
