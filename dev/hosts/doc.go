// Package hosts makes several hosts of one machine, so that what moves between
// hosts is moved for real. Each host is a network namespace with a libvirtd, a
// virtlogd and guests of its own (dev/libvirt) and room for a host worker:
//
//	                 bridge hf<cloud>, 198.18.x.254         the machine
//	     ┌──────────────────┼──────────────────┐
//	hf<cloud>-1             │              hf<cloud>-2      namespaces
//	 lan 198.18.x.1         │               lan 198.18.x.2
//	 brq<network> ── veth ── brq<network> ── veth ── brq<network>
//
// The lan carries what hosts say to each other and what the machine asks of
// them. What listens on the machine's loopback interface is reached by a host
// under the same address: a forwarder of this process listens there. A bridge
// that a guest is plugged into on a host is joined, for as long, with the
// machine's bridge of that name, so that a network has its guests on all hosts.
//
// Namespaces outlive this process, as guests do; the next one takes them over.
package hosts
