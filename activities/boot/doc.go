// Package boot implements steps.BootActivities: what nodes are started from, in a
// conductor worker.
//
// A ramdisk's medium is made here, with what its kernel is told: where the API is,
// and the token that the ramdisk shares with its node. Of a node that is booted by
// the network it is a folder: the kernel, the ramdisk, and what boot loaders read,
// without a token (netboot.go). It is served under a name that can't be guessed for
// as long as the node's row of baremetal.boot_files says so (server.go); one without
// a row is removed, whoever has dropped that.
//
// A ramdisk that could not be taken away while its BMC was down is owed, and each
// conductor of the group tries to (debts.go).
//
// The BMC's part, the drive and what the machine starts from, is activities/bmc's; that
// of who gives machines their addresses is Neutron's (activities/network) or the site's.
package boot
