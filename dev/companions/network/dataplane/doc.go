// Package dataplane makes the development cloud's networks real on one machine,
// as Neutron's DHCP and metadata agents with Linux bridges would: for each
// network with a DHCP subnet there is a bridge in the root namespace, without an
// address, joined to a namespace qdhcp-<network id> in which dnsmasq leases the
// ports their addresses and a proxy takes requests for 169.254.169.254.
//
// It needs root, and runs only where it is enabled. It listens in those
// namespaces alone. What is its own is known by a mark: a bridge by its alias, a
// namespace by a folder in Dir. Nothing else is touched. A start makes what
// there is fit the plan, whatever an earlier end left; a stop takes everything
// away, except a bridge that guests are still plugged into.
package dataplane
