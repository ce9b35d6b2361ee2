package nodes

// Booting by the network: the boot interfaces by which a machine's firmware finds its
// ramdisk there, and what whoever gives it an address tells it.

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store/baremetal"
)

// Netboot is how firmware finds a ramdisk in the network: it reads a boot loader, which
// reads the rest.
type Netboot struct {
	// IPXE is the boot loader that runs a script; others read a configuration.
	IPXE bool
	// HTTP has the firmware read the boot loader by HTTP; otherwise by TFTP.
	HTTP bool
}

// netboots are the boot interfaces of this kind.
var netboots = map[string]Netboot{"ipxe": {IPXE: true}, "pxe": {}, "http-ipxe": {IPXE: true, HTTP: true}, "http": {HTTP: true}}

// NetbootOf is how a node is booted by the network; false if its boot interface is another.
func NetbootOf(n *baremetal.Node) (Netboot, bool) {
	way, ok := netboots[BootInterface(n)]
	return way, ok
}

// BootsRamdisk says whether a node's boot interface is one by which a machine is started
// from a ramdisk.
func BootsRamdisk(n *baremetal.Node) bool {
	_, network := NetbootOf(n)
	return network || BootInterface(n) == BootVirtualMedia
}

// Device is what a node is told to start from. Firmware that can't be told to read by HTTP
// is told to boot by the network, and may still do so.
func (w Netboot) Device(n *baremetal.Node) string {
	if w.HTTP && MayStartFrom(n, provision.BootUEFIHTTP) == nil {
		return provision.BootUEFIHTTP
	}
	return provision.BootPXE
}

// Loaders are the names of the boot loaders that machines begin with, by how they start, or
// by what their processors are (cpu_arch).
type Loaders struct {
	BIOS, UEFI string
	ByArch     map[string]string
}

// ReadLoaders reads entries as "aarch64:snponly-arm64.efi". Errors: Invalid.
func ReadLoaders(entries []string) (byArch map[string]string, err error) {
	byArch = map[string]string{}
	for _, entry := range entries {
		arch, file, _ := strings.Cut(entry, ":")
		if arch == "" || file == "" {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%q is no kind of processors with a boot loader, as aarch64:snponly-arm64.efi", entry)
		}
		byArch[arch] = file
	}
	return byArch, nil
}

// of is the one that a node begins with which starts in a boot mode.
func (l Loaders) of(n *baremetal.Node, mode string) string {
	var properties struct {
		Arch any `json:"cpu_arch"`
	}
	if json.Unmarshal(n.Properties, &properties) == nil {
		if arch, is := properties.Arch.(string); is && l.ByArch[arch] != "" {
			return l.ByArch[arch]
		}
	}
	if mode == provision.BIOS {
		return l.BIOS
	}
	return l.UEFI
}

// FirstStage is where machines find the first that they are booted from.
type FirstStage struct {
	// TFTP is the address of the server, and URL where it serves by HTTP.
	TFTP, URL string
	// IPXE and Other are the boot loaders.
	IPXE, Other Loaders
}

// FirstScript is what iPXE runs first.
const FirstScript = "boot.ipxe"

// DHCPOption is one that a machine is told, as a port of Neutron has it (extra_dhcp_opts).
type DHCPOption struct {
	Name    string `json:"opt_name"`
	Value   string `json:"opt_value"`
	Version int    `json:"ip_version"`
}

// The options, by their numbers.
const (
	dhcpServerName = "66"
	dhcpBootFile   = "67"
	dhcpAddress    = "150"
	dhcpPrefix     = "210"
	dhcpNextServer = "255" // dnsmasq's server-ip-address
	dhcp6BootFile  = "59"
)

// bootOptions are all of them.
var bootOptions = []string{dhcpServerName, dhcpBootFile, dhcpAddress, dhcpPrefix, dhcpNextServer, dhcp6BootFile}

// Boots says whether an option is one of those by which machines are booted, whatever
// clients it is for.
func (o DHCPOption) Boots() bool {
	return slices.Contains(bootOptions, o.Name[strings.LastIndex(o.Name, ",")+1:])
}

// DHCPOptions are what a node that is booted by the network is told by whoever gives it an
// address: which boot loader it begins with, and what iPXE goes on with; none of another.
// Instance is its instance_info. Errors: Invalid.
func DHCPOptions(n *baremetal.Node, instance Info, from FirstStage) ([]DHCPOption, error) {
	way, ok := NetbootOf(n)
	if !ok {
		return nil, nil
	}
	mode, err := instance.BootMode()
	if err != nil {
		return nil, err
	}
	loaders := from.Other
	if way.IPXE {
		loaders = from.IPXE
	}
	loader := loaders.of(n, mode)
	at := from.TFTP
	if strings.Contains(at, ":") {
		at = "[" + at + "]"
	}
	url := "tftp://" + at + "/" + loader
	if way.HTTP {
		loader = ServedAt(from.URL, loader)
		url = loader
	}
	var all []DHCPOption
	for _, file := range []struct {
		version           int
		option, tag, file string
	}{{4, dhcpBootFile, "ipxe", loader}, {6, dhcp6BootFile, "ipxe6", url}} {
		if !way.IPXE {
			all = append(all, DHCPOption{file.option, file.file, file.version})
			continue
		}
		all = append(all, DHCPOption{"tag:!" + file.tag + "," + file.option, file.file, file.version},
			DHCPOption{"tag:" + file.tag + "," + file.option, ServedAt(from.URL, FirstScript), file.version})
	}
	if way.HTTP {
		return all, nil
	}
	if !way.IPXE {
		all = append(all, DHCPOption{dhcpPrefix, "/", 4})
	}
	for _, option := range []string{dhcpServerName, dhcpAddress, dhcpNextServer} {
		all = append(all, DHCPOption{option, from.TFTP, 4})
	}
	return all, nil
}
