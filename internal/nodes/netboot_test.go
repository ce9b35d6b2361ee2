package nodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/baremetal"
)

// What a node's machine is told by DHCP is the original's.
func TestDHCPOptions(t *testing.T) {
	t.Parallel()
	from := FirstStage{TFTP: "192.0.2.1", URL: "http://192.0.2.1:8080/", IPXE: Loaders{"undionly.kpxe", "snponly.efi"}, Other: Loaders{"pxelinux.0", "bootx64.efi"}}
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
