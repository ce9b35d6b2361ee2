// Package ramdisk builds the ramdisk that a machine is cleaned and deployed by: a kernel,
// an initial file system and the image of an EFI system partition, which a conductor makes
// a disc of. The system in it is Debian's, unpacked and not installed, and in it runs
// ironic-python-agent as PyPI has it.
//
// system.go has what it is made of, agent.txt the agent with all that it needs, and
// files/init what it does. Build is the only entry: it needs root and the machine's
// network, some minutes, and half a gigabyte while it works.
package ramdisk
