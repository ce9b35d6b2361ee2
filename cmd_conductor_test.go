package main

import (
	"reflect"
	"strings"
	"testing"

	"holdfast.dev/internal/config"
	"holdfast.dev/internal/nodes"
)

// What ports of Neutron say of booting is what the conductor is configured with, and what
// can't be is named.
func TestFirstStage(t *testing.T) {
	t.Parallel()
	usual := func(change ...string) (*nodes.FirstStage, error) {
		environ := []string{"HOLDFAST_CONDUCTOR_BOOT_URL=http://192.0.2.1:8088"}
		cfg, err := config.Load("", append(environ, change...))
		if err != nil {
			t.Fatal(err)
		}
		return firstStage(cfg.Conductor)
	}
	want := func(change func(*nodes.FirstStage)) *nodes.FirstStage {
		f := &nodes.FirstStage{TFTP: "192.0.2.1", URL: "http://192.0.2.1:8088",
			IPXE:  nodes.Loaders{BIOS: "undionly.kpxe", UEFI: "snponly.efi", ByArch: map[string]string{}},
			Other: nodes.Loaders{BIOS: "pxelinux.0", UEFI: "bootx64.efi", ByArch: map[string]string{}}}
		change(f)
		return f
	}
	for change, want := range map[string]*nodes.FirstStage{
		"": want(func(*nodes.FirstStage) {}),
		"HOLDFAST_CONDUCTOR_TFTP_SERVER=192.0.2.2":                          want(func(f *nodes.FirstStage) { f.TFTP = "192.0.2.2" }),
		"HOLDFAST_CONDUCTOR_BOOT_URL=http://[2001:db8::1]:80/":              want(func(f *nodes.FirstStage) { f.TFTP, f.URL = "2001:db8::1", "http://[2001:db8::1]:80/" }),
		"HOLDFAST_CONDUCTOR_IPXE_BOOTFILE_NAME_BY_ARCH=[\"aarch64:a.efi\"]": want(func(f *nodes.FirstStage) { f.IPXE.ByArch["aarch64"] = "a.efi" }),
		"HOLDFAST_CONDUCTOR_PXE_BOOTFILE_NAME_BY_ARCH=[\"aarch64:b.efi\"]":  want(func(f *nodes.FirstStage) { f.Other.ByArch["aarch64"] = "b.efi" }),
		"HOLDFAST_CONDUCTOR_DHCP_PROVIDER=none":                             nil,
		"HOLDFAST_CONDUCTOR_BOOT_URL=":                                      nil,
	} {
		var changes []string
		if change != "" {
			changes = []string{change}
		}
		if got, err := usual(changes...); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", change, got, err)
		}
	}
	for change, text := range map[string]string{
		"HOLDFAST_CONDUCTOR_DHCP_PROVIDER=dnsmasq":                    "conductor.dhcp_provider",
		"HOLDFAST_CONDUCTOR_BOOT_URL=http://%":                        "conductor.boot_url",
		"HOLDFAST_CONDUCTOR_IPXE_BOOTFILE_NAME_BY_ARCH=[\"aarch64\"]": "conductor.ipxe_bootfile_name_by_arch",
		"HOLDFAST_CONDUCTOR_PXE_BOOTFILE_NAME_BY_ARCH=[\":b.efi\"]":   "conductor.pxe_bootfile_name_by_arch",
	} {
		if got, err := usual(change); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %+v, %v", change, got, err)
		}
	}
}
