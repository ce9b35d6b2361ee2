package hardware

// The table of hardware types (contracts: drivers.json), and which interfaces
// are there without configuration.

// types are those that can be enabled, with the interfaces that each supports,
// best first.
var types = []Type{
	{Name: "fake-hardware", Supports: map[Interface][]string{
		BIOS:       {"fake", "no-bios"},
		Boot:       {"fake", "ipxe", "pxe", "http-ipxe", "http"},
		Console:    {"fake", "no-console", "fake-graphical"},
		Deploy:     {"fake", "autodetect", "direct", "ansible", "ramdisk", "anaconda", "bootc", "custom-agent"},
		Firmware:   {"fake", "no-firmware"},
		Inspect:    {"fake", "agent", "no-inspect"},
		Management: {"fake"},
		Network:    {"flat", "neutron", "ironic-networking", "noop"},
		Power:      {"fake"},
		RAID:       {"fake", "no-raid", "agent"},
		Rescue:     {"fake", "no-rescue", "agent"},
		Storage:    {"fake", "noop", "cinder", "external"},
		Vendor:     {"fake", "FakeVendorA", "no-vendor"},
	}},
	{Name: "ipmi", Supports: map[Interface][]string{
		BIOS:       {"no-bios"},
		Boot:       {"ipxe", "pxe", "http-ipxe", "http"},
		Console:    {"ipmitool-socat", "no-console", "fake-graphical"},
		Deploy:     {"autodetect", "direct", "ansible", "ramdisk", "anaconda", "bootc", "custom-agent"},
		Firmware:   {"no-firmware"},
		Inspect:    {"agent", "no-inspect"},
		Management: {"ipmitool", "noop"},
		Network:    {"flat", "neutron", "ironic-networking", "noop"},
		Power:      {"ipmitool"},
		RAID:       {"no-raid", "agent"},
		Rescue:     {"no-rescue", "agent"},
		Storage:    {"noop", "cinder", "external"},
		Vendor:     {"ipmitool", "no-vendor"},
	}},
	{Name: "manual-management", Supports: map[Interface][]string{
		BIOS:       {"no-bios"},
		Boot:       {"ipxe", "pxe", "http-ipxe", "http"},
		Console:    {"no-console", "fake-graphical"},
		Deploy:     {"autodetect", "direct", "ansible", "ramdisk", "anaconda", "bootc", "custom-agent", "noop"},
		Firmware:   {"no-firmware"},
		Inspect:    {"agent", "no-inspect"},
		Management: {"noop", "fake"},
		Network:    {"flat", "neutron", "ironic-networking", "noop"},
		Power:      {"agent", "fake"},
		RAID:       {"no-raid", "agent"},
		Rescue:     {"no-rescue", "agent"},
		Storage:    {"noop", "cinder", "external"},
		Vendor:     {"no-vendor"},
	}},
	{Name: "redfish", Supports: map[Interface][]string{
		BIOS:       {"redfish", "no-bios"},
		Boot:       {"ipxe", "pxe", "http-ipxe", "http", "redfish-virtual-media", "redfish-https"},
		Console:    {"redfish-graphical", "ipmitool-socat", "no-console", "fake-graphical"},
		Deploy:     {"autodetect", "direct", "ansible", "ramdisk", "anaconda", "bootc", "custom-agent"},
		Firmware:   {"redfish", "no-firmware"},
		Inspect:    {"redfish", "agent", "no-inspect"},
		Management: {"redfish", "noop"},
		Network:    {"flat", "neutron", "ironic-networking", "noop"},
		Power:      {"redfish"},
		RAID:       {"redfish", "no-raid", "agent"},
		Rescue:     {"no-rescue", "agent"},
		Storage:    {"noop", "cinder", "external"},
		Vendor:     {"redfish", "no-vendor"},
	}},
}

// stock are the interfaces that the original enables by default (contracts:
// config-defaults.json, enabled_*_interfaces). Of power and management it enables
// what the enabled types prefer.
var stock = map[Interface][]string{
	BIOS:     {"no-bios", "redfish"},
	Boot:     {"ipxe", "pxe", "redfish-virtual-media"},
	Console:  {"no-console"},
	Deploy:   {"autodetect", "direct", "ramdisk", "bootc"},
	Firmware: {"no-firmware"},
	Inspect:  {"no-inspect", "redfish"},
	Network:  {"flat", "noop"},
	RAID:     {"agent", "no-raid", "redfish"},
	Rescue:   {"no-rescue"},
	Storage:  {"cinder", "noop"},
	Vendor:   {"ipmitool", "redfish", "no-vendor"},
}
