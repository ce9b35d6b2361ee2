package pci

// What operators say of devices.

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
)

// Device is one of a host's.
type Device struct {
	// Address is of the form 0000:81:00.1; Vendor and Product are of four hex digits.
	Address string `json:"address"`
	Vendor  string `json:"vendor_id"`
	Product string `json:"product_id"`
	Type    Type   `json:"dev_type"`
	// Parent is the address of the card that it is a part of, empty for any other.
	Parent string `json:"parent_addr,omitempty"`
	// Cell is the NUMA cell that it is next to; nil isn't known.
	Cell *int `json:"numa_node,omitempty"`
}

// Type is what a device is to those that share its card.
type Type string

// Types: alone, the card itself, and a part of one that guests share.
const (
	Standard Type = "type-PCI"
	Physical Type = "type-PF"
	Virtual  Type = "type-VF"
)

// Policy says how near to a guest's NUMA cells a device has to be.
type Policy string

// Policies: on its cells or next to none, on its cells, near if that goes, on the
// same socket.
const (
	Legacy    Policy = "legacy"
	Required  Policy = "required"
	Preferred Policy = "preferred"
	Socket    Policy = "socket"
)

var (
	types    = []Type{"", Standard, Physical, Virtual}
	policies = []Policy{"", Legacy, Required, Preferred, Socket}
)

// Spec names devices of a kind.
type Spec struct {
	Vendor  string `json:"vendor_id"`
	Product string `json:"product_id"`
	Type    Type   `json:"device_type"`
}

// is says whether a device is of the kind. One that is the whole of a card is only
// taken where it is named.
func (s Spec) is(d Device) bool {
	byType := s.Type == d.Type || s.Type == "" && d.Type != Physical
	return byType && s.Vendor == d.Vendor && s.Product == d.Product
}

// Alias is a name that flavors have for devices.
type Alias struct {
	Policy Policy
	// Specs are the kinds that will do.
	Specs []Spec
}

// Aliases are a cloud's, by name.
type Aliases map[string]Alias

// ReadAliases reads entries of the form {"name": "gpu", "vendor_id": "10de",
// "product_id": "1eb8"}, with device_type and numa_policy if need be. Entries of
// one name are kinds that will do. Errors: Invalid.
func ReadAliases(entries []string) (Aliases, error) {
	all := Aliases{}
	for _, text := range entries {
		var entry struct {
			Name   string `json:"name"`
			Policy Policy `json:"numa_policy"`
			Spec
		}
		if err := readEntry(text, &entry); err != nil {
			return nil, invalid("pci.alias", text, err.Error())
		}
		name := strings.TrimSpace(entry.Name)
		have, known := all[name]
		switch {
		case name == "" || strings.ContainsAny(name, ":,"):
			return nil, invalid("pci.alias", text, "it has no name, or one with : or , in it")
		case entry.Vendor == "" || entry.Product == "":
			return nil, invalid("pci.alias", text, "it lacks vendor_id or product_id")
		case !slices.Contains(types, entry.Type) || !slices.Contains(policies, entry.Policy):
			return nil, invalid("pci.alias", text, "device_type or numa_policy is not one of those that there are")
		case known && (have.Policy != entry.Policy || have.Specs[0].Type != entry.Type):
			return nil, invalid("pci.alias", text, "another entry of the name has another device_type or numa_policy")
		}
		entry.Vendor, entry.Product = strings.ToLower(entry.Vendor), strings.ToLower(entry.Product)
		all[name] = Alias{Policy: entry.Policy, Specs: append(have.Specs, entry.Spec)}
	}
	return all, nil
}

// Lent is which of its devices a host lets guests have.
type Lent []lent

// lent names devices: an empty field is any, an address may have * in its parts.
type lent struct {
	Vendor  string `json:"vendor_id"`
	Product string `json:"product_id"`
	Address string `json:"address"`
}

// ReadLent reads entries of the form {"vendor_id": "10de", "product_id": "1eb8",
// "address": "0000:81:*.*"}. Errors: Invalid.
func ReadLent(entries []string) (Lent, error) {
	var all Lent
	for _, text := range entries {
		var entry lent
		if err := readEntry(text, &entry); err != nil {
			return nil, invalid("host.pci_device_spec", text, err.Error())
		}
		if entry == (lent{}) {
			return nil, invalid("host.pci_device_spec", text, "it names no device")
		}
		if _, err := path.Match(entry.Address, ""); err != nil {
			return nil, invalid("host.pci_device_spec", text, err.Error())
		}
		entry.Vendor, entry.Product, entry.Address = strings.ToLower(entry.Vendor), strings.ToLower(entry.Product), strings.ToLower(entry.Address)
		all = append(all, entry)
	}
	return all, nil
}

// Of are those of the devices that are lent.
func (l Lent) Of(devices []Device) []Device {
	return slices.DeleteFunc(slices.Clone(devices), func(d Device) bool {
		return !slices.ContainsFunc(l, func(e lent) bool { return e.names(d) })
	})
}

func (l lent) names(d Device) bool {
	agrees := func(want, have string) bool { return want == "" || want == "*" || want == have }
	byAddress, _ := path.Match(l.Address, d.Address) // ReadLent has tried the pattern
	return agrees(l.Vendor, d.Vendor) && agrees(l.Product, d.Product) && (l.Address == "" || byAddress)
}

func readEntry(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func invalid(key, text, why string) error {
	return faults.New(faults.Invalid, "InvalidConfiguration", "%s: %s: %s", key, text, why)
}
