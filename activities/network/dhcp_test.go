package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// firstStage is where nodes begin.
var firstStage = nodes.FirstStage{TFTP: "192.0.2.1", URL: "http://192.0.2.1:8080",
	IPXE:  nodes.Loaders{BIOS: "undionly.kpxe", UEFI: "snponly.efi", ByArch: map[string]string{"aarch64": "snponly-arm64.efi"}},
	Other: nodes.Loaders{BIOS: "pxelinux.0", UEFI: "bootx64.efi"}}

// startsBy has a node boot by an interface, in a mode.
func startsBy(by, mode string) func(*baremetal.Node) {
	return func(n *baremetal.Node) {
		n.BootInterface, n.Properties = &by, []byte(`{"capabilities": "boot_mode:`+mode+`"}`)
	}
}

// says is what the node's port of Neutron says by DHCP, in no order.
func (w *world) says() string {
	w.Helper()
	var all []string
	for _, one := range w.neutron.Want(200, "admin", "GET", "/v2.0/ports?mac_address="+nicMAC, "").At("ports").([]any) {
		for _, o := range one.(map[string]any)["extra_dhcp_opts"].([]any) {
			option := o.(map[string]any)
			all = append(all, fmt.Sprintf("%v:%v=%v", option["ip_version"], option["opt_name"], option["opt_value"]))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// What a node's port says by each boot interface.
const (
	server  = "4:150=192.0.2.1 4:255=192.0.2.1 4:66=192.0.2.1"
	script  = "http://192.0.2.1:8080/boot.ipxe"
	byIPXE  = server + " 4:tag:!ipxe,67=snponly.efi 4:tag:ipxe,67=" + script + " 6:tag:!ipxe6,59=tftp://192.0.2.1/snponly.efi 6:tag:ipxe6,59=" + script
	byPXE   = "4:150=192.0.2.1 4:210=/ 4:255=192.0.2.1 4:66=192.0.2.1 4:67=bootx64.efi 6:59=tftp://192.0.2.1/bootx64.efi"
	byHTTP  = "4:67=http://192.0.2.1:8080/bootx64.efi 6:59=http://192.0.2.1:8080/bootx64.efi"
	byHIPXE = "4:tag:!ipxe,67=http://192.0.2.1:8080/snponly.efi 4:tag:ipxe,67=" + script +
		" 6:tag:!ipxe6,59=http://192.0.2.1:8080/snponly.efi 6:tag:ipxe6,59=" + script
)

// A port on which a ramdisk boots says how, as the node is booted, and no longer when the
// instance is there.
func TestWhatPortsSay(t *testing.T) {
	t.Parallel()
	bios := strings.NewReplacer("snponly.efi", "undionly.kpxe", "bootx64.efi", "pxelinux.0")
	for _, kind := range []string{"flat", "neutron"} {
		for name, c := range map[string]struct{ by, mode, want string }{
			"iPXE": {"ipxe", "uefi", byIPXE}, "iPXE of a BIOS": {"ipxe", "bios", bios.Replace(byIPXE)}, "PXE": {"pxe", "uefi", byPXE}, "PXE of a BIOS": {"pxe", "bios", bios.Replace(byPXE)},
			"HTTP": {"http", "uefi", byHTTP}, "iPXE by HTTP": {"http-ipxe", "uefi", byHIPXE}, "a medium": {nodes.BootVirtualMedia, "uefi", ""},
		} {
			t.Run(kind+" by "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, kind, startsBy(c.by, c.mode)).bears()
				w.first = &firstStage
				for place, want := range map[steps.NodeNetwork]string{steps.NetworkProvisioning: c.want, steps.NetworkCleaning: c.want, steps.NetworkTenant: "", steps.NetworkNone: ""} {
					if err := w.switches(place)(w.activities(w.DB)); err != nil {
						t.Fatal(err)
					}
					if got := w.says(); got != want {
						t.Errorf("%s: %s", place, got)
					}
				}
			})
		}
	}
}

// What a port says follows the node and the conductor, and leaves alone what isn't said of
// booting, or by another provider.
func TestWhatPortsSayChanges(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"flat", "neutron"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind, startsBy("ipxe", "uefi")).bears()
			w.first = &firstStage
			own := ""
			if kind == "flat" {
				own = "4:26=9000 "
				w.neutron.Want(200, "demo", "PUT", "/v2.0/ports/"+w.vif, `{"port": {"extra_dhcp_opts": [{"opt_name": "26", "opt_value": "9000"}]}}`)
			}
			says := func(when, want string) {
				t.Helper()
				if err := w.switches(steps.NetworkProvisioning)(w.activities(w.DB)); err != nil {
					t.Fatal(err)
				}
				all := strings.Fields(own + want)
				slices.Sort(all)
				if got := w.says(); got != strings.Join(all, " ") {
					t.Errorf("%s: %s", when, got)
				}
			}
			says("at first", byIPXE)
			w.exec(`UPDATE baremetal.nodes SET properties = properties || '{"cpu_arch": "aarch64"}'`)
			says("of other processors", strings.ReplaceAll(byIPXE, "snponly.efi", "snponly-arm64.efi"))
			w.exec(`UPDATE baremetal.nodes SET boot_interface = 'pxe'`)
			says("by another interface", byPXE)
			elsewhere := firstStage
			elsewhere.TFTP = "192.0.2.2"
			w.first = &elsewhere
			moved := strings.ReplaceAll(byPXE, "192.0.2.1", "192.0.2.2")
			says("by another conductor", moved)
			w.first = nil
			says("by another provider", moved)
			w.first = &firstStage
			w.exec(`UPDATE baremetal.nodes SET boot_interface = 'redfish-virtual-media'`)
			says("from a medium", "")
		})
	}
}

// A port that the node isn't booted by says nothing of that.
func TestWhichPortsSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "neutron", startsBy("ipxe", "uefi"))
	w.port(other, otherMAC, func(*baremetal.Port) {})
	w.first, w.usual.AllPorts = &firstStage, true
	if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	w.wants("all ports", "cleaning bound made told boots", "cleaning bound made told mute", "tenant")
}

// A node whose modes contradict has no network for a ramdisk.
func TestModesThatContradict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "neutron", startsBy("ipxe", "bios"), func(n *baremetal.Node) { n.InstanceInfo = []byte(`{"capabilities": {"boot_mode": "uefi"}}`) })
	w.first = &firstStage
	if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), "boot mode uefi violates") {
		t.Errorf("%v", err)
	}
	w.wants("refused", "tenant")
	if err := w.switches(steps.NetworkNone)(w.activities(w.DB)); err != nil {
		t.Error(err)
	}
}
