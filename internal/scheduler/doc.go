// Package scheduler chooses the host of a server: a snapshot of hosts in,
// ordered candidates out. It is pure, the same input gives the same answer.
//
// Filters say which hosts can take the request, weighers which of those should.
// Both are rows of a table (filters.go, weighers.go); a new rule is a new row,
// and its code stands in the file of what it is about:
//
//	request.go       what is looked for, host.go what there is
//	requirements.go  what a flavor's extra specs and an image's properties ask of a host
//	capacity.go      room: CPUs, memory, disk and custom resource classes, NUMA cells, devices
//	aggregates.go    what a host's aggregates say of it
//	capabilities.go  what a flavor wants of a host's properties (operators in ops.go)
//	guests.go        what kinds of guest a host runs
//	images.go        what a server's image has in common with those of a host's servers
//	neighbours.go    near to or far from other servers: groups and hints
//	query.go         the hint "query", a condition in JSON
//	choose.go        filter, weigh, and the draw among the best few
//
// What comes out is a proposal: activities/placement tries the candidates in
// order, and the claim in store/compute checks again under the host's lock.
package scheduler
