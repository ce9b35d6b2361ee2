// Package inspection says what is made of what was found on a machine: which ports
// its node gets, and which properties.
//
// It does no I/O. activities/bmc and api/baremetal keep what was found beside the
// node's row, internal/store/baremetal makes it the node's when the operation ends.
package inspection
