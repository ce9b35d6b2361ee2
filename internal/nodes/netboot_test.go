package nodes

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/baremetal"
)

// What a node's machine is told by DHCP is the original's.
func TestDHCPOptions(t *testing.T) {
	t.Parallel()
	from := FirstStage{TFTP: "192.0.2.1", URL: "http://192.0.2.1:8080/", IPXE: Loaders{BIOS: "undionly.kpxe", UEFI: "snponly.efi"}, Other: Loaders{BIOS: "pxelinux.0", UEFI: "bootx64.efi"}}
	const server = " 66=192.0.2.1 150=192.0.2.1 255=192.0.2.1"
	for _, c := range []struct{ by, mode, want string }{
		{"ipxe", "uefi", "tag:!ipxe,67=snponly.efi tag:ipxe,67=http://192.0.2.1:8080/boot.ipxe 6:tag:!ipxe6,59=tftp://192.0.2.1/snponly.efi 6:tag:ipxe6,59=http://192.0.2.1:8080/boot.ipxe" + server},
		{"ipxe", "bios", "tag:!ipxe,67=undionly.kpxe tag:ipxe,67=http://192.0.2.1:8080/boot.ipxe 6:tag:!ipxe6,59=tftp://192.0.2.1/undionly.kpxe 6:tag:ipxe6,59=http://192.0.2.1:8080/boot.ipxe" + server},
		{"pxe", "uefi", "67=bootx64.efi 6:59=tftp://192.0.2.1/bootx64.efi 210=/" + server},
		{"pxe", "bios", "67=pxelinux.0 6:59=tftp://192.0.2.1/pxelinux.0 210=/" + server},
		{"http-ipxe", "uefi", "tag:!ipxe,67=http://192.0.2.1:8080/snponly.efi tag:ipxe,67=http://192.0.2.1:8080/boot.ipxe " +
			"6:tag:!ipxe6,59=http://192.0.2.1:8080/snponly.efi 6:tag:ipxe6,59=http://192.0.2.1:8080/boot.ipxe"},
		{"http", "uefi", "67=http://192.0.2.1:8080/bootx64.efi 6:59=http://192.0.2.1:8080/bootx64.efi"},
		{"redfish-virtual-media", "uefi", ""}, {"fake", "uefi", ""},
	} {
		n := &baremetal.Node{BootInterface: &c.by, Properties: json.RawMessage(`{"capabilities": "boot_mode:` + c.mode + `"}`)}
		options, err := DHCPOptions(n, infoFor(t, n, `{}`), from)
		var told []string
		for _, o := range options {
			version := map[int]string{4: "", 6: "6:"}[o.Version]
			told = append(told, fmt.Sprintf("%s%s=%s", version, o.Name, o.Value))
		}
		if got := strings.Join(told, " "); err != nil || got != c.want {
			t.Errorf("%s by %s: %s, %v", c.by, c.mode, got, err)
		}
	}
	by := "ipxe"
	n := &baremetal.Node{BootInterface: &by, Properties: json.RawMessage(`{"capabilities": "boot_mode:bios"}`)}
	if _, err := DHCPOptions(n, infoFor(t, n, `{"capabilities": {"boot_mode": "uefi"}}`), from); !faults.Is(err, faults.Invalid) {
		t.Errorf("of modes that contradict: %v", err)
	}
	from.TFTP = "2001:db8::1"
	if options, err := DHCPOptions(n, infoFor(t, n, `{}`), from); err != nil || options[2].Value != "tftp://[2001:db8::1]/undionly.kpxe" {
		t.Errorf("%v, %v", options, err)
	}
}

// Boot loaders by processors are read as they are written, and one that names none is refused.
func TestReadLoaders(t *testing.T) {
	t.Parallel()
	if got, err := ReadLoaders([]string{"aarch64:arm:64.efi", "x86_64:ipxe.efi"}); err != nil || !maps.Equal(got, map[string]string{"aarch64": "arm:64.efi", "x86_64": "ipxe.efi"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"aarch64", ":ipxe.efi", "aarch64:", ""} {
		if _, err := ReadLoaders([]string{wrong}); !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), fmt.Sprintf("%q", wrong)) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Options of booting are told from others, whomever they are for.
func TestBoots(t *testing.T) {
	t.Parallel()
	for name, boots := range map[string]bool{"67": true, "tag:!ipxe,67": true, "tag:ipxe6,59": true, "66": true, "150": true, "210": true, "255": true, "61": false, "26": false, "tag:ipxe,26": false, "6": false, "": false} {
		if got := (DHCPOption{Name: name}).Boots(); got != boots {
			t.Errorf("%q: %v", name, got)
		}
	}
}
