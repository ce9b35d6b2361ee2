// Package nodes reads what a node's row says of the machine: how its BMC is
// reached and entered, and what its drivers can do.
//
// It does no I/O. api/baremetal asks it before it accepts what a driver would
// refuse, activities/bmc before it connects.
package nodes
