// Package servers is the pure logic of servers: the states they can be in and
// what clients are shown of those. Data and functions over it, no I/O.
//
// The store keeps these values in compute.servers, api shows them.
package servers
