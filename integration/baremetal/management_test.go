//go:build real

package baremetal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
)

// TestManagement is what a machine's BMC is told and asked: what it starts from and how,
// an interrupt, its settings, and the methods of its vendor.
func TestManagement(t *testing.T) {
	c := withMachine(t)
	o, machine := Start(t, c), c.BMC.Machines[0]
	at, _ := cloud.Files(t)
	o.Does(nil, slices.Concat(enrollment(c, at), []string{"--bios-interface", "redfish"})...)
	o.Does(nil, "node", "manage", "m1", "--wait", "60")

	o.Does(nil, "node", "boot", "device", "set", "m1", "pxe", "--persistent")
	var shown map[string]any
	if o.Does(&shown, "node", "boot", "device", "show", "m1"); shown["boot_device"] != "pxe" || shown["persistent"] != true {
		t.Errorf("%v", shown)
	}
	if o.Does(&shown, "node", "boot", "device", "show", "m1", "--supported"); shown["supported_boot_devices"] != "pxe, disk, cdrom, bios, uefihttp" {
		t.Errorf("%v", shown)
	}
	o.Refused("Invalid boot device wanboot specified.", "node", "boot", "device", "set", "m1", "wanboot")
	if boot := machine.Boot(); boot != (bmc.Boot{Target: "Pxe", Enabled: "Continuous", Mode: "UEFI"}) {
		t.Errorf("it starts from %v", boot)
	}
	o.Does(nil, "node", "inject", "nmi", "m1")
	if asked := machine.Asked(); !slices.Contains(asked, "Nmi") {
		t.Errorf("it was asked for %v", asked)
	}

	var interfaces []map[string]any
	o.Does(&interfaces, "node", "validate", "m1")
	for _, i := range interfaces {
		if name := i["Interface"]; i["Result"] != (name != "console" && name != "deploy" && name != "firmware") {
			t.Errorf("%v", i)
		}
	}
	if s := o.Ask("node", "passthru", "list", "m1"); s.Code != 0 || !strings.Contains(s.Out, "create_subscription") {
		t.Errorf("%+v", s)
	}
	if s := o.Ask("node", "passthru", "call", "m1", "create_subscription", "--arg", "Destination=https://192.0.2.1/"); s.Code != 0 || c.BMC.Subscriptions() != 1 {
		t.Errorf("%+v", s)
	}
	o.Refused("does not support console", "node", "console", "enable", "m1")

	var settings []map[string]any
	if o.Does(&settings, "node", "bios", "setting", "list", "m1"); len(settings) != 4 {
		t.Errorf("%v", settings)
	}
	o.Does(nil, "node", "clean", "m1", "--disable-ramdisk", "--clean-steps",
		`[{"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "BootDelay", "value": 20}]}}]`, "--wait", "120")
	if delay := machine.BIOS()["BootDelay"]; delay != 20.0 {
		t.Errorf("it is set to %v", delay)
	}
	var node map[string]any
	if o.Does(&node, "node", "bios", "setting", "show", "m1", "BootDelay"); node["value"] != "20" {
		t.Errorf("%v", node)
	}

	o.Does(nil, "node", "boot", "mode", "set", "m1", "bios")
	c.Eventually("it boots as it was told", time.Minute, func(context.Context) error {
		if o.Does(&node, "node", "show", "m1"); node["boot_mode"] != "bios" || node["reservation"] != nil {
			return fmt.Errorf("%v, %v", node["boot_mode"], node["last_error"])
		}
		return nil
	})
	if mode := machine.Boot().Mode; mode != "Legacy" {
		t.Errorf("its mode is %s", mode)
	}
}
