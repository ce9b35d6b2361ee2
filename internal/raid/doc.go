// Package raid says of which drives a machine's logical disks are made: those that are
// named, or those that fit. It does no I/O; activities/bmc makes the volumes.
package raid
