// Package steps is the contract between workflows and activities: for every
// step its name, input and output, the queue it runs on, its timeouts and its
// retry row, and the typed call a workflow makes.
//
// One file per family (records.go, placement.go, libvirt.go ...). Inputs and
// outputs only ever grow: a host may run a release behind control. The package
// does no I/O; activities implements its interfaces, workers registers them
// under these names, and workflows call them and nothing else.
package steps
