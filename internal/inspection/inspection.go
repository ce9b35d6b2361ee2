package inspection

// What is found, and what the hooks of the original make of it (validate-interfaces,
// ports, architecture, ramdisk-error).

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
)

// Found is what an inspection has found on a node.
type Found struct {
	// Properties are what the node's BMC says of them; nil if its ramdisk has found it.
	Properties map[string]any
	// Inventory is what the machine is made of, Plugin what else was said.
	Inventory, Plugin map[string]any
}

// Port is one of a node's network interfaces.
type Port struct {
	Address  string
	ClientID string
	// PXE says that the machine was booted by it.
	PXE bool
}

// Made is what a node becomes by what was found on it.
type Made struct {
	Properties map[string]any
	// Ports are those that the node gets if nobody has them; All are those of its
	// interfaces, which say which are booted by.
	Ports, All []Port
}

// essential are the properties that a node has to have once its BMC was asked.
var essential = []string{"cpu_arch", "local_gb", "memory_mb"}

// Make says what a node with these properties becomes. Errors: Invalid in the
// original's words.
func Make(node string, before map[string]any, f Found) (Made, error) {
	m, err := f.make(node, before)
	if err == nil || f.Properties != nil {
		return m, err
	}
	fault := faults.As(err)
	return m, faults.Wrap(err, fault.Kind, fault.Code, "Failed to finish inspection: Failed to inspect hardware. Reason: failed to run inspection hooks: %s", fault.Message)
}

func (f Found) make(node string, before map[string]any) (m Made, err error) {
	if said, _ := f.Plugin["error"].(string); said != "" {
		return m, failure("Ramdisk reported error: %s", said)
	}
	if m.All, m.Ports, err = f.ports(node); err != nil {
		return m, err
	}
	m.Properties = maps.Clone(before)
	if m.Properties == nil {
		m.Properties = map[string]any{}
	}
	maps.Copy(m.Properties, f.Properties)
	cpu, _ := f.Inventory["cpu"].(map[string]any)
	arch, ok := cpu["architecture"].(string)
	if !ok {
		return m, invalid(node, "Inventory has malformed or missing CPU architecture information for node "+node+".")
	}
	m.Properties["cpu_arch"] = arch
	if f.Properties != nil {
		m.Properties["capabilities"] = f.capabilities(before)
		if m.Properties["capabilities"] == nil {
			delete(m.Properties, "capabilities")
		}
		var missing []string
		for _, name := range essential {
			if m.Properties[name] == nil {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return m, failure("Failed to discover the following properties: %s on node %s", strings.Join(missing, ", "), node)
		}
	}
	return m, nil
}

// capabilities are a node's, with the boot mode that its BMC says unless it has one.
func (f Found) capabilities(before map[string]any) any {
	boot, _ := f.Inventory["boot"].(map[string]any)
	mode, _ := boot["current_boot_mode"].(string)
	had, text := before["capabilities"].(string)
	switch {
	case mode == "" || !text && before["capabilities"] != nil:
		return before["capabilities"]
	case had == "":
		return "boot_mode:" + mode
	case slices.ContainsFunc(strings.Split(had, ","), func(c string) bool { return strings.HasPrefix(strings.TrimSpace(c), "boot_mode:") }):
		return had
	}
	return had + ",boot_mode:" + mode
}

// ports are the interfaces that have a hardware address, and those of them that are
// worth a port: the one that the machine was booted by, if that is known.
func (f Found) ports(node string) (all, worth []Port, err error) {
	list, ok := f.Inventory["interfaces"].([]any)
	if !ok {
		return nil, nil, invalid(node, "no interfaces present in inventory")
	}
	boot, _ := f.Inventory["boot"].(map[string]any)
	named, _ := boot["pxe_interface"].(string)
	pxe := booted(named)
	for _, item := range list {
		i, _ := item.(map[string]any)
		name, _ := i["name"].(string)
		address, ok := Address(text(i["mac_address"]))
		if name == "" || !ok {
			continue
		}
		port := Port{Address: address, ClientID: text(i["client_id"]), PXE: address == pxe}
		all = append(all, port)
		if local := name == "lo" || loopback(text(i["ipv4_address"])) || text(i["ipv4_address"]) == "" && loopback(text(i["ipv6_address"])); !local && (pxe == "" || port.PXE) {
			worth = append(worth, port)
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil, invalid(node, "no valid network interfaces")
	case len(worth) == 0:
		return nil, nil, invalid(node, `no network interfaces match the configuration (add_ports set to "pxe")`)
	}
	return all, worth, nil
}

// booted is the address of the interface that a machine says that it was booted by;
// boot loaders put the kind of interface before it.
func booted(said string) string {
	if _, address, dashed := strings.Cut(said, "-"); dashed {
		said = strings.ReplaceAll(address, "-", ":")
	}
	address, _ := Address(said)
	return address
}

// Address is a hardware address as ports have it; false for what is none.
func Address(said string) (string, bool) {
	address, err := net.ParseMAC(said)
	if err != nil || len(address) != 6 || len(said) != 17 {
		return "", false
	}
	return address.String(), true
}

func loopback(said string) bool {
	said, _, _ = strings.Cut(said, "%")
	address, err := netip.ParseAddr(said)
	return err == nil && address.IsLoopback()
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

func failure(format string, args ...any) error {
	return faults.New(faults.Invalid, "HardwareInspectionFailure", "Failed to inspect hardware. Reason: "+format, args...)
}

func invalid(node, why string) error {
	return faults.New(faults.Invalid, "InvalidNodeInventory", "Inventory for node %s is invalid: %s", node, why)
}
