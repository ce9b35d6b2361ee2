// Package placement implements steps.PlacementActivities: room on a host is
// claimed for an operation's server, and given back.
//
// internal/scheduler proposes, from hosts held in memory, which are read again as they
// change (hosts.go); the claim in store/compute decides, under the host's lock. A
// claim and its line in the operation's ledger are one transaction, so there is never
// one without the other. It touches nothing but Holdfast's own database; the workflow
// undoes a claim by Release.
package placement
