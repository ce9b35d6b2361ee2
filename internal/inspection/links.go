package inspection

// What the ports of a node are connected to: by what their switches say (LLDP, IEEE
// 802.1AB), and by their addresses.

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/faults"
)

// PhysicalNetwork is the one that interfaces are in whose addresses are in a network.
type PhysicalNetwork struct {
	Of   netip.Prefix
	Name string
}

// ReadPhysicalNetworks reads entries as "192.0.2.0/24:physnet1". Errors: Invalid.
func ReadPhysicalNetworks(entries []string) ([]PhysicalNetwork, error) {
	networks := make([]PhysicalNetwork, len(entries))
	for i, entry := range entries {
		at := strings.LastIndex(entry, ":")
		of, err := netip.ParsePrefix(entry[:max(at, 0)])
		if err != nil || entry[at+1:] == "" || of != of.Masked() {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%q is no network with a name, as 192.0.2.0/24:physnet1", entry)
		}
		networks[i] = PhysicalNetwork{of, entry[at+1:]}
	}
	return networks, nil
}

// eachInterface calls a function with the address and the description of each interface that
// has one.
func (w *work) eachInterface(do func(address string, said map[string]any)) {
	raw, _ := w.Inventory["interfaces"].([]any)
	for _, item := range raw {
		said, _ := item.(map[string]any)
		for _, p := range w.made.All {
			if p.Name == said["name"] {
				do(p.Address, said)
				break
			}
		}
	}
}

// physicalNetworks says in which network each port is, by the first address of its interface
// that is in one.
func (w *work) physicalNetworks() error {
	w.made.Networks = map[string]string{}
	w.eachInterface(func(address string, said map[string]any) {
		for _, name := range []string{"ipv4_address", "ipv6_address"} {
			plain, _, _ := strings.Cut(text(said[name]), "%")
			ip, err := netip.ParseAddr(plain)
			for _, n := range w.Networks {
				if err == nil && n.Of.Contains(ip) {
					w.made.Networks[address] = n.Name
					return
				}
			}
		}
	})
	return nil
}

// linked says which port of which switch each port is connected to.
func (w *work) linked() error {
	raw, _ := w.Plugin["lldp_raw"].(map[string]any)
	w.made.Links = map[string]map[string]string{}
	w.eachInterface(func(address string, said map[string]any) {
		list, _ := raw[text(said["name"])].([]any)
		if len(list) == 0 {
			list, _ = said["lldp"].([]any)
		}
		if link, ok := readLink(list); ok && len(link) > 0 {
			w.made.Links[address] = link
		}
	})
	return nil
}

// Kinds of what a switch says of itself.
const (
	tlvChassis = 1
	tlvPort    = 2
	tlvName    = 5
)

// Kinds of ids: of a chassis by a hardware address; of a port by its alias, by the component
// that it is, by a hardware address, by one of its network, by its name and by what its switch
// calls it.
const (
	chassisByMAC = 4

	portByAlias     = 1
	portByComponent = 2
	portByMAC       = 3
	portByIP        = 4
	portByName      = 5
	portByLocal     = 7
)

// readLink reads what a switch says, pairs of a kind and of a value in hex; false for what
// can't be read.
func readLink(list []any) (link map[string]string, ok bool) {
	link = map[string]string{}
	for _, item := range list {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			return nil, false
		}
		kind, is := whole(pair[0])
		data, err := hex.DecodeString(text(pair[1]))
		if !is || err != nil {
			return nil, false
		}
		name, value := "", ""
		switch kind {
		case tlvChassis:
			if len(data) == 0 {
				return nil, false
			}
			if data[0] == chassisByMAC {
				name, value = "switch_id", address(data[1:], 6)
				if value == "" {
					return nil, false
				}
			}
		case tlvPort:
			if name = "port_id"; len(data) == 0 {
				return nil, false
			}
			if value, is = portID(data[0], data[1:]); !is {
				return nil, false
			}
		case tlvName:
			name, value = "switch_info", string(data)
		}
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return nil, false
		}
		if name != "" && value != "" {
			link[name] = value
		}
	}
	return link, true
}

// portID is the id of a switch's port, of a kind; empty for a kind that nobody knows.
func portID(kind byte, data []byte) (id string, ok bool) {
	switch kind {
	case portByAlias, portByComponent, portByName, portByLocal:
		return string(data), true
	case portByMAC:
		id = address(data, 6)
		return id, id != ""
	case portByIP:
		if len(data) == 0 {
			return "", false
		}
		id = family(data)
		return id, id != "" || families[data[0]] == 0
	}
	return "", true
}

// families are how long the addresses of families are that have a number with IANA: IPv4,
// IPv6 and hardware addresses.
var families = map[byte]int{1: 4, 2: 16, 6: 6}

// family is the address that follows the number of its family; empty for none, or one of
// another family.
func family(data []byte) string {
	if len(data) == 0 || families[data[0]] == 0 {
		return ""
	}
	return address(data[1:], families[data[0]])
}

// address is the one of a length that data begin with, a hardware address or an IP address;
// empty for none.
func address(data []byte, length int) string {
	if len(data) < length {
		return ""
	}
	if length == 6 {
		return net.HardwareAddr(data[:length]).String()
	}
	ip, _ := netip.AddrFromSlice(data[:length])
	return ip.String()
}
