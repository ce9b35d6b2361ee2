package inspection

// What is found, and what is made of what a BMC says. What is made of a ramdisk's word
// is in hooks.go.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
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
	// Name is what the machine calls it.
	Name     string
	Address  string
	ClientID string
	// PXE says that the machine was booted by it.
	PXE bool
}

// Made is what a node becomes by what was found on it.
type Made struct {
	Properties map[string]any
	// Ports are those that the node gets if nobody has them; All are those of its
	// interfaces, which say which are booted by, unless Booting says that nothing does.
	Ports, All []Port
	Booting    Word
	// Keep are the addresses of the ports that a node keeps; nil keeps all.
	Keep []string
	// Links say what ports are connected to that don't say it yet, and Networks which
	// physical networks they are in, by their addresses.
	Links    map[string]map[string]string
	Networks map[string]string
}

// Word says whose word counts.
type Word int

const (
	// Machine: what was found says by which ports a node is booted.
	Machine Word = iota
	// Row: it stays as the ports' rows have it.
	Row
)

// essential are the properties that a node has to have once its BMC was asked.
var essential = []string{"cpu_arch", "local_gb", "memory_mb"}

// Make says what a node with these properties becomes by what its BMC has said.
// Errors: Invalid in the original's words.
func Make(node string, before map[string]any, f Found) (m Made, err error) {
	if m.All, m.Ports, err = f.ports(node, AddPXE); err != nil {
		return m, err
	}
	m.Properties = cloned(before)
	maps.Copy(m.Properties, f.Properties)
	if err := f.architecture(node, m.Properties); err != nil {
		return m, err
	}
	if m.Properties["capabilities"] = f.capabilities(before); m.Properties["capabilities"] == nil {
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
	return m, nil
}

// cloned are properties that may be changed.
func cloned(before map[string]any) map[string]any {
	if before == nil {
		return map[string]any{}
	}
	return maps.Clone(before)
}

// architecture is the processor's, which is a property.
func (f Found) architecture(node string, properties map[string]any) error {
	arch, ok := f.part("cpu")["architecture"].(string)
	if !ok {
		return invalid(node, fmt.Sprintf("Inventory has malformed or missing CPU architecture information: %s for node %s.", printed(f.Inventory["cpu"]), node))
	}
	properties["cpu_arch"] = arch
	return nil
}

// part is an object of the inventory; empty for what is none.
func (f Found) part(name string) map[string]any {
	part, _ := f.Inventory[name].(map[string]any)
	return part
}

// capabilities are a node's, with the boot mode that its BMC says unless it has one.
func (f Found) capabilities(before map[string]any) any {
	mode, _ := f.part("boot")["current_boot_mode"].(string)
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

// AddPorts says which interfaces are worth a port.
type AddPorts string

const (
	AddAll AddPorts = "all"
	// AddActive: those with an IP address.
	AddActive AddPorts = "active"
	// AddPXE: the one that the machine was booted by, if that is known.
	AddPXE AddPorts = "pxe"
	// AddNone: none gets a port, though all are looked at.
	AddNone AddPorts = "disabled"
)

// ports are the interfaces that have a hardware address, and those of them that are
// worth a port.
func (f Found) ports(node string, add AddPorts) (all, worth []Port, err error) {
	list, ok := f.Inventory["interfaces"].([]any)
	if !ok {
		return nil, nil, invalid(node, "no interfaces present in inventory")
	}
	pxe := booted(text(f.part("boot")["pxe_interface"]))
	for _, item := range list {
		i, _ := item.(map[string]any)
		name, _ := i["name"].(string)
		address, ok := Address(text(i["mac_address"]))
		if name == "" || !ok {
			continue
		}
		ip := cmp.Or(text(i["ipv4_address"]), text(i["ipv6_address"]))
		port := Port{Name: name, Address: address, ClientID: text(i["client_id"]), PXE: address == pxe}
		all = append(all, port)
		if name == "lo" || loopback(ip) || add == AddPXE && pxe != "" && !port.PXE || add == AddActive && ip == "" {
			continue
		}
		worth = append(worth, port)
	}
	switch {
	case len(all) == 0:
		return nil, nil, invalid(node, "no valid network interfaces")
	case len(worth) == 0:
		return nil, nil, invalid(node, fmt.Sprintf(`no network interfaces match the configuration (add_ports set to "%s")`, add))
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

// printed is a value as the original prints it.
func printed(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "None"
	}
	parsed, _, err := pyjson.Parse(text)
	if err != nil {
		return "None"
	}
	return pyjson.Str(parsed)
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// inspectionFailure is the code of what an inspection fails by.
const inspectionFailure = "HardwareInspectionFailure"

func failure(format string, args ...any) error {
	return faults.New(faults.Invalid, inspectionFailure, "Failed to inspect hardware. Reason: "+format, args...)
}

func invalid(node, why string) error {
	return faults.New(faults.Invalid, "InvalidNodeInventory", "Inventory for node %s is invalid: %s", node, why)
}
