package qemu

import (
	"reflect"
	"testing"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/pci"
)

// What libvirt says of a device, as it is lent; libvirtd itself tells of those that
// the machine has.
func TestDevicesOfAHost(t *testing.T) {
	t.Parallel()
	const head, tail = `<device><name>x</name><capability type="pci"><domain>0</domain><bus>129</bus><slot>2</slot><function>1</function>` +
		`<product id="0x154c">part</product><vendor id="0x8086">maker</vendor>`, `</capability></device>`
	cell := 1
	for more, want := range map[string]pci.Device{
		``: {Type: pci.Standard},
		`<capability type="phys_function"><address domain="0x0000" bus="0x81" slot="0x00" function="0x0"/></capability><numa node="1"/>`: {Type: pci.Virtual, Parent: "0000:81:00.0", Cell: &cell},
		`<capability type="virt_functions" maxCount="4"/><numa node="-1"/>`:                                                              {Type: pci.Physical},
	} {
		var described libvirtxml.NodeDevice
		if err := described.Unmarshal(head + more + tail); err != nil {
			t.Fatal(err)
		}
		want.Address, want.Vendor, want.Product = "0000:81:02.1", "8086", "154c"
		if got := pciDevice(described.Capability.PCI); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", more, got, want)
		}
	}
	d := host(t, t.TempDir(), blank(), nil)
	d.lends = true
	if _, err := d.Inventory(t.Context()); err != nil {
		t.Error(err)
	}
}
