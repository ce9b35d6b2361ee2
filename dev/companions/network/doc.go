// Package network is the network companion: the part of Neutron's v2.0 API that
// the clients and Holdfast use.
//
// Every resource is a document of the table network.resources; what a kind of
// resource holds stands as data in kinds.go, and one generic handler reads,
// lists, creates, changes and deletes them all. What a kind does besides being
// stored (a subnet's pools, a port's addresses and binding, a router's ports)
// is in the hooks of its own file. What may exist once only is held by the
// database: addresses and MACs have tables with keys.
//
// Changes go on to the compute service as external events (events.go) and,
// where it is enabled, to the data plane (package dataplane), which asks for the
// networks and ports through Plan.
package network
