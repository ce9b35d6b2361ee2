package metadata

// network_data.json: the interfaces as an agent configures them.

import (
	"encoding/json"
	"net/netip"
	"strconv"
)

type networkData struct {
	Links    []networkLink    `json:"links"`
	Networks []networkConfig  `json:"networks"`
	Services []networkService `json:"services"`
}

type networkLink struct {
	ID    string `json:"id"`
	VIFID string `json:"vif_id"`
	Type  string `json:"type"`
	MTU   int    `json:"mtu"`
	MAC   string `json:"ethernet_mac_address"`
}

type networkConfig struct {
	ID        string           `json:"id"`
	Type      string           `json:"type"`
	Link      string           `json:"link"`
	NetworkID string           `json:"network_id"`
	IP        string           `json:"ip_address,omitempty"`
	Netmask   string           `json:"netmask,omitempty"`
	Routes    []networkRoute   `json:"routes,omitempty"`
	Services  []networkService `json:"services,omitempty"`
}

type networkRoute struct {
	Network string `json:"network"`
	Netmask string `json:"netmask"`
	Gateway string `json:"gateway"`
}

type networkService struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

func networkDataJSON(i *Instance, _ string) ([]byte, error) {
	doc := networkData{Links: []networkLink{}, Networks: []networkConfig{}, Services: []networkService{}}
	named := map[string]bool{}
	for _, link := range i.Links {
		if len(link.Addresses) == 0 {
			continue
		}
		doc.Links = append(doc.Links, networkLink{ID: link.Device, VIFID: link.PortID, Type: link.VIFType, MTU: link.MTU, MAC: link.MAC})
		for _, address := range link.Addresses {
			config := network(link, address)
			config.ID = "network" + strconv.Itoa(len(doc.Networks))
			doc.Networks = append(doc.Networks, config)
			for _, service := range config.Services {
				if !named[service.Address] {
					named[service.Address] = true
					doc.Services = append(doc.Services, service)
				}
			}
		}
	}
	return json.Marshal(doc)
}

// network describes one address: got by DHCP, or set with its default route.
func network(link Link, address Address) networkConfig {
	family, anywhere := "ipv4", "0.0.0.0"
	ip, err := netip.ParseAddr(address.IP)
	if err == nil && ip.Is6() {
		family, anywhere = "ipv6", "::"
	}
	config := networkConfig{Type: family, Link: link.Device, NetworkID: link.NetworkID}
	if address.DHCP {
		config.Type += "_dhcp"
		return config
	}
	config.IP, config.Netmask = address.IP, netmask(address.CIDR)
	if address.Gateway != "" {
		config.Routes = []networkRoute{{Network: anywhere, Netmask: anywhere, Gateway: address.Gateway}}
	}
	for _, server := range address.DNS {
		config.Services = append(config.Services, networkService{Type: "dns", Address: server})
	}
	return config
}

// netmask writes a prefix's length as an address, as agents read it.
func netmask(cidr string) string {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	mask := make([]byte, prefix.Addr().BitLen()/8)
	for bit := range prefix.Bits() {
		mask[bit/8] |= 0x80 >> (bit % 8)
	}
	address, _ := netip.AddrFromSlice(mask) // 4 or 16 bytes, always an address
	return address.String()
}
