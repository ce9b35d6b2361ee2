// Package baremetal holds the rows of the bare metal service: chassis, nodes with
// their traits, ports, port groups and records, allocations, deploy templates,
// runbooks, inspection rules, and who works on nodes: conductors and their leases.
//
// A row is a struct whose fields bear the names of its columns; table.go reads
// and writes them all alike. What clients know of a row has the same names, so
// that a filter, a sort key or a patch names a column, and api/baremetal decides
// which of them who may see.
//
// Errors are faults in the original's words: NotFound for what isn't there,
// Conflict for a name, address or id that is taken.
package baremetal
