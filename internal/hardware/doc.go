// Package hardware says what nodes can be: the hardware types, the interfaces
// by which each is handled, best first, and what those read of a node's
// driver_info.
//
// It is pure: tables and functions over them. api/baremetal asks it what a node
// may have; what an implementation does is in activities.
package hardware
