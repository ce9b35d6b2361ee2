// Package provision is the life of a bare-metal node as data: the states it can
// be in, the events that lead from one to another, the verbs by which users ask
// for them, and the rules of what may be done to a node meanwhile.
//
// It is pure: tables and functions over them, no I/O. api/baremetal asks it
// before it accepts, workflows/node carry out what it allows, and
// docs/provision.md is drawn from it. The original's machine agrees with it on
// every pair of state and event (contracts: baremetal/state-machine.json; and
// the original itself, make integration-provision).
package provision
