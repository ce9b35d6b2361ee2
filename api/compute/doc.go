// Package compute is the Compute API, as Nova has it: routes.go is the table of
// its operations, faults.go the words of its faults, one file per operation
// its story, server_view.go what clients are shown of a server.
//
// Handlers read PostgreSQL, never Temporal. A request that changes something
// locks the rows, checks, changes them and has the operation accepted by
// internal/engine in one transaction; after the commit it offers the operation
// to the starter and answers.
package compute
