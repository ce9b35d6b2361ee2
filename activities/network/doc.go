// Package network carries out steps of family "network": the networks of Neutron that
// nodes are on.
//
// A node is in one place at a time: on a network that its ramdisk has for some work, on
// those of its instance, or on none. Switch looks at what Neutron has for it and makes the
// rest so. What is made for a ramdisk bears the node's id as its device, and who makes it
// as its owner; what is bound to the node has its id for a host. By that a step that was
// killed anywhere finds what it did, and whoever takes it back finds all of it.
//
// A port on which a ramdisk is booted by the network says how, by DHCP, and that of an
// instance doesn't (dhcp.go).
//
// Which ports of Neutron an instance has, its VIFs, stands in the rows of the node's ports
// and port groups. The calls are made as the service user, one step at a time with a node
// (baremetal.Lease).
//
// Where the data goes next: Neutron tells its mechanism drivers, which wire switches.
package network
