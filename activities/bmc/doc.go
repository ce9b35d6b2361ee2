// Package bmc implements steps.BMCActivities: what is done to machines by their
// management controllers, in a conductor worker.
//
// A step reads the node's row and opens its secrets itself; nothing of them goes
// through a workflow. It takes the lease of the node's BMC, so that of two attempts
// of which one is believed dead only one talks to it. What can't be taken back is
// noted before it is sent (power.go): run again, a step looks at what was sent
// and at the machine, and sends only what was certainly not obeyed.
//
// A BMC that is slow or broken delays nobody else: so many calls go to one at a
// time, and after a failure it is left alone for a while (limits.go). Connections
// are made by internal/netguard; certificates are checked by Redfish, and sessions by IPMI
// (internal/ipmi) are encrypted.
package bmc
