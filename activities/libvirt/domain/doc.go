// Package domain writes the libvirt XML of a server's domain: a pure function of
// the server's spec and of where its host has put the parts.
//
// One file is about one concern, and each is a function of the Plan that sets
// its part of the XML: name and uuid, memory, cpu, cells, os, firmware, smbios, disks,
// nics, console, video, rng, metadata. What the flavor's extra specs and the
// image's properties ask for goes through Properties, whose names are those of
// the contracts (compute/extra-specs.json, compute/image-properties.json). A
// value that can't be met is faults.Invalid, with the original's text.
//
// On which NUMA cells, CPUs and pages the guest lies and which devices of the host
// it has stands in its spec, where placement has put it. Not looked at here, since
// placement has to know of them first: mediated devices, TPM, memory encryption.
//
// Package qemu gives the text to libvirt.
package domain
