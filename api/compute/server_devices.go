package compute

// What is plugged into a server, as it is shown: addresses and volumes
// (contracts: response-schemas.json, servers.show; api_samples/servers).

import (
	"net/netip"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

// address is one of a server's, fixed or floating.
type address struct {
	Version int    `json:"version"`
	Address string `json:"addr"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
	Type    string `json:"OS-EXT-IPS:type"`
}

// addressesOf are those of the ports that are bound, in their order: a network's
// fixed ones first, then its floating ones.
func addressesOf(s *compute.Server) map[string][]address {
	all := map[string][]address{}
	for _, p := range s.Ports {
		for _, ip := range p.FixedIPs {
			all[p.NetworkName] = append(all[p.NetworkName], newAddress(ip.Address, p.MAC, "fixed"))
		}
	}
	for _, p := range s.Ports {
		for _, ip := range p.FloatingIPs {
			all[p.NetworkName] = append(all[p.NetworkName], newAddress(ip.Address, p.MAC, "floating"))
		}
	}
	return all
}

func newAddress(ip, mac, kind string) address {
	version := 4
	if a, err := netip.ParseAddr(ip); err == nil && a.Is6() {
		version = 6
	}
	return address{version, ip, mac, kind}
}

// attachedIDs are its volumes up to 2.2; from 2.3 on they also show whether they
// end with the server.
func (v serverView) attachedIDs() []map[string]string {
	all := []map[string]string{}
	for _, volume := range v.Volumes {
		all = append(all, map[string]string{"id": volume.ID})
	}
	return all
}

func (v serverView) attached() []attachedVolume {
	all := []attachedVolume{}
	for _, volume := range v.Volumes {
		all = append(all, attachedVolume{volume.ID, volume.DeleteOnTermination})
	}
	return all
}

type attachedVolume struct {
	ID                  string `json:"id"`
	DeleteOnTermination bool   `json:"delete_on_termination"`
}

// rootDevice is what the guest's first disk is called, once the server has run.
func (v serverView) rootDevice() any {
	if v.LaunchedAt == nil {
		return nil
	}
	if v.RootDevice != "" {
		return v.RootDevice
	}
	root := []servers.Disk{{Name: servers.BareName(v.ImageProperties["root_device_name"])}}
	if err := servers.NameDisks(v.ImageProperties, root); err != nil {
		return nil // no host has built such a guest
	}
	return servers.DevicePath(root[0].Name)
}

// plainAddress is an address as /ips shows it.
type plainAddress struct {
	Version int    `json:"version"`
	Address string `json:"addr"`
}

func plainAddresses(all map[string][]address) map[string][]plainAddress {
	plain := make(map[string][]plainAddress, len(all))
	for network, addresses := range all {
		for _, a := range addresses {
			plain[network] = append(plain[network], plainAddress{a.Version, a.Address})
		}
	}
	return plain
}
