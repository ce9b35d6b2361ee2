package inspection

// What switches say of themselves and of their ports (LLDP, IEEE 802.1AB with the parts of
// 802.1Q and 802.3), in words.

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxLLDP bounds the interfaces of which it is read, and maxTLV what is said at once.
	maxLLDP = 64
	maxTLV  = 511
)

// parsedLLDP keeps what switches say to each interface.
func (w *work) parsedLLDP() error {
	raw, _ := w.Plugin["lldp_raw"].(map[string]any)
	interfaces, _ := w.Inventory["interfaces"].([]any)
	parsed := map[string]any{}
	for _, item := range interfaces[:min(len(interfaces), maxLLDP)] {
		said, _ := item.(map[string]any)
		name := text(said["name"])
		list, _ := raw[name].([]any)
		if len(list) == 0 {
			list, _ = said["lldp"].([]any)
		}
		if values := readLLDP(list); len(values) > 0 {
			parsed[name] = map[string]any(values)
		}
	}
	if len(parsed) > 0 {
		w.Plugin["parsed_lldp"] = parsed
	}
	return nil
}

// spoken is what a switch says, by name.
type spoken map[string]any

// set says something that wasn't said.
func (s spoken) set(name string, value any) {
	if _, said := s[name]; !said {
		s[name] = value
	}
}

// add says one more of several.
func (s spoken) add(name string, value any) {
	list, _ := s[name].([]any)
	s[name] = append(list, value)
}

// text says something that is a text, unless it can't be kept.
func (s spoken) text(name string, data []byte) {
	if value := string(data); utf8.ValidString(value) && !strings.ContainsRune(value, 0) {
		s.set(name, value)
	}
}

// number says a number that data begin with.
func (s spoken) number(name string, data []byte) {
	if len(data) >= 2 {
		s.set(name, int(binary.BigEndian.Uint16(data)))
	}
}

// readLLDP reads pairs of a kind and of a value in hex; what can't be read says nothing.
func readLLDP(list []any) spoken {
	s := spoken{}
	for _, item := range list {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			continue
		}
		kind, is := whole(pair[0])
		said, isText := pair[1].(string)
		data, err := hex.DecodeString(said)
		if is && isText && err == nil && len(data) <= maxTLV && readTLV[kind] != nil {
			readTLV[kind](s, data)
		}
	}
	return s
}

// readTLV are how the kinds are read.
var readTLV = map[int64]func(spoken, []byte){
	tlvChassis: func(s spoken, data []byte) {
		s.id("switch_chassis_id", data, chassisByMAC, chassisByAddress, chassisByText)
	},
	tlvPort: func(s spoken, data []byte) { s.id("switch_port_id", data, portByMAC, portByIP, portByText) },
	4:       func(s spoken, data []byte) { s.text("switch_port_description", data) },
	tlvName: func(s spoken, data []byte) { s.text("switch_system_name", data) },
	6:       func(s spoken, data []byte) { s.text("switch_system_description", data) },
	7: func(s spoken, data []byte) {
		if len(data) == 4 {
			s.set("switch_capabilities_support", named(data, capabilityBits))
			s.set("switch_capabilities_enabled", named(data[2:], capabilityBits))
		}
	},
	8: func(s spoken, data []byte) {
		if len(data) > 1 {
			if at := family(data[1:]); at != "" {
				s.add("switch_mgmt_addresses", at)
			}
		}
	},
	127: func(s spoken, data []byte) {
		if len(data) >= 4 {
			if read := byOrganization[[4]byte(data)]; read != nil {
				read(s, data[4:])
			}
		}
	},
}

// id says an id: a hardware address, an address of a network, or a text, by its kind.
func (s spoken) id(name string, data []byte, mac, ip byte, texts []byte) {
	switch {
	case len(data) == 0:
	case slices.Contains(texts, data[0]):
		s.text(name, data[1:])
	case data[0] == mac && len(data) > 6:
		s.set(name, address(data[1:], 6))
	case data[0] == ip:
		if at := family(data[1:]); at != "" {
			s.set(name, at)
		}
	}
}

// Kinds of ids that are texts, and of a chassis by an address of its network.
const chassisByAddress = 5

var (
	chassisByText = []byte{1, 2, 3, 6, 7}
	portByText    = []byte{portByAlias, portByComponent, portByName, portByLocal}
)

// bit is one of a 16 bit word, and what it stands for.
type bit struct {
	mask uint16
	name string
}

// capabilityBits are what a switch is (IEEE 802.1AB, system capabilities).
var capabilityBits = []bit{{1 << 1, "Repeater"}, {1 << 2, "Bridge"}, {1 << 3, "WLAN"}, {1 << 4, "Router"}, {1 << 5, "Telephone"}, {1 << 6, "DOCSIS cable device"},
	{1 << 7, "Station only"}, {1 << 8, "C-Vlan"}, {1 << 9, "S-Vlan"}, {1 << 10, "TPMR"}}

// negotiated are what a port may come to by itself (RFC 4836, ifMauAutoNegCapBits), by name.
var negotiated = []bit{{1 << 0, "1000BASE-T fdx"}, {1 << 1, "1000BASE-T hdx"}, {1 << 2, "1000BASE-X fdx"}, {1 << 3, "1000BASE-X hdx"}, {1 << 8, "100BASE-T2 fdx"},
	{1 << 9, "100BASE-T2 hdx"}, {1 << 10, "100BASE-TX fdx"}, {1 << 11, "100BASE-TX hdx"}, {1 << 13, "10BASE-T fdx"}, {1 << 14, "10BASE-T hdx"}, {1 << 12, "10BASE-T4"},
	{1 << 4, "Asym and Sym PAUSE fdx"}, {1 << 6, "Asym PAUSE fdx"}, {1 << 7, "PAUSE fdx"}, {1 << 5, "Sym PAUSE fdx"}}

// named are what the bits stand for that are set in the word that data begin with.
func named(data []byte, bits []bit) []any {
	names, word := []any{}, binary.BigEndian.Uint16(data)
	for _, b := range bits {
		if word&b.mask != 0 {
			names = append(names, b.name)
		}
	}
	return names
}

// byOrganization are how what is said is read that an organization has given a meaning: by
// its identifier and its own kind, of 802.1Q and of 802.3.
var byOrganization = map[[4]byte]func(spoken, []byte){
	{0x00, 0x80, 0xc2, 1}: func(s spoken, data []byte) { s.number("switch_port_untagged_vlan_id", data) },
	{0x00, 0x80, 0xc2, 2}: func(s spoken, data []byte) {
		if len(data) == 3 {
			s.set("switch_port_protocol_vlan_enabled", data[0]&(1<<2) != 0)
			s.set("switch_port_protocol_vlan_support", data[0]&(1<<1) != 0)
			s.add("switch_port_protocol_vlan_ids", int(binary.BigEndian.Uint16(data[1:])))
		}
	},
	{0x00, 0x80, 0xc2, 3}: func(s spoken, data []byte) {
		if len(data) < 3 || len(data)-3 < int(data[2]) {
			return
		}
		vlan := spoken{"id": int(binary.BigEndian.Uint16(data))}
		vlan.text("name", []byte(strings.TrimRight(string(data[3:3+int(data[2])]), "\x00")))
		if vlan["name"] != nil {
			s.add("switch_port_vlans", map[string]any(vlan))
		}
	},
	{0x00, 0x80, 0xc2, 4}: func(s spoken, data []byte) {
		if len(data) > 0 && len(data) > int(data[0]) {
			s.add("switch_protocol_identities", hex.EncodeToString(data[1:1+int(data[0])]))
		}
	},
	{0x00, 0x80, 0xc2, 6}: func(s spoken, data []byte) { s.number("switch_port_management_vlan_id", data) },
	{0x00, 0x80, 0xc2, 7}: spoken.aggregation,
	{0x00, 0x12, 0x0f, 1}: func(s spoken, data []byte) {
		if len(data) != 5 || int(binary.BigEndian.Uint16(data[3:])) >= len(mauTypes) {
			return
		}
		s.set("switch_port_autonegotiation_enabled", data[0]&(1<<1) != 0)
		s.set("switch_port_autonegotiation_support", data[0]&1 != 0)
		s.set("switch_port_physical_capabilities", named(data[1:], negotiated))
		s.set("switch_port_mau_type", mauTypes[binary.BigEndian.Uint16(data[3:])])
	},
	{0x00, 0x12, 0x0f, 3}: spoken.aggregation,
	{0x00, 0x12, 0x0f, 4}: func(s spoken, data []byte) { s.number("switch_port_mtu", data) },
}

// aggregation says whether a port is one of several that are one.
func (s spoken) aggregation(data []byte) {
	if len(data) == 5 {
		s.set("switch_port_link_aggregation_enabled", data[0]&(1<<1) != 0)
		s.set("switch_port_link_aggregation_support", data[0]&1 != 0)
		s.set("switch_port_link_aggregation_id", int(binary.BigEndian.Uint32(data[1:])))
	}
}

// mauTypes are the kinds of ports by their numbers (RFC 4836, dot3MauType).
var mauTypes = []string{"Unknown", "AUI", "10BASE-5", "FOIRL", "10BASE-2", "10BASE-T duplex mode unknown", "10BASE-FP", "10BASE-FB", "10BASE-FL duplex mode unknown",
	"10BROAD36", "10BASE-T half duplex", "10BASE-T full duplex", "10BASE-FL half duplex", "10BASE-FL full duplex", "100 BASE-T4", "100BASE-TX half duplex",
	"100BASE-TX full duplex", "100BASE-FX half duplex", "100BASE-FX full duplex", "100BASE-T2 half duplex", "100BASE-T2 full duplex", "1000BASE-X half duplex",
	"1000BASE-X full duplex", "1000BASE-LX half duplex", "1000BASE-LX full duplex", "1000BASE-SX half duplex", "1000BASE-SX full duplex", "1000BASE-CX half duplex",
	"1000BASE-CX full duplex", "1000BASE-T half duplex", "1000BASE-T full duplex", "10GBASE-X", "10GBASE-LX4", "10GBASE-R", "10GBASE-ER", "10GBASE-LR", "10GBASE-SR",
	"10GBASE-W", "10GBASE-EW", "10GBASE-LW", "10GBASE-SW", "10GBASE-CX4", "2BASE-TL", "10PASS-TS", "100BASE-BX10D", "100BASE-BX10U", "100BASE-LX10", "1000BASE-BX10D",
	"1000BASE-BX10U", "1000BASE-LX10", "1000BASE-PX10D", "1000BASE-PX10U", "1000BASE-PX20D", "1000BASE-PX20U"}
