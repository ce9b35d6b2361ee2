// Package scheduler chooses the host of a server: a snapshot of hosts in,
// ordered candidates out. It is pure, the same input gives the same answer.
//
// Filters say which hosts can take the request, weighers which of those should.
// Both are rows of a table (filters.go, weighers.go); a new rule is a new row.
// What comes out is a proposal: activities/placement tries the candidates in
// order, and the claim in store/compute checks again under the host's lock.
package scheduler
