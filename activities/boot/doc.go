// Package boot implements steps.BootActivities: what nodes are started from, in a
// conductor worker.
//
// A ramdisk's medium is made here, with what its kernel is told: where the API is,
// and the token that the ramdisk shares with its node. It is served under a name
// that can't be guessed for as long as the node's row of baremetal.boot_files says
// so (server.go); a file without one is removed, whoever has dropped the row.
//
// A ramdisk that could not be taken away while its BMC was down is owed, and each
// conductor of the group tries to (debts.go).
//
// The BMC's part, the drive and what the machine starts from, is activities/bmc's.
package boot
