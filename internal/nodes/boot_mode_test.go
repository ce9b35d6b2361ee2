package nodes

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store/baremetal"
)

// A node boots as its instance asks, or else as its properties say, and not at all if they
// contradict each other.
func TestBootMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ instance, properties, want string }{
		{`{}`, `{}`, provision.UEFI},
		{`{}`, `{"capabilities": "a:b, boot_mode:bios"}`, provision.BIOS},
		{`{"capabilities": {"boot_mode": "bios"}}`, `{}`, provision.BIOS},
		{`{"capabilities": "{\"boot_mode\": \"bios\"}"}`, `{}`, provision.BIOS},
		{`{"capabilities": {"boot_mode": 7}}`, `{"capabilities": "boot_mode:bios,"}`, provision.BIOS},
		{`{"capabilities": {"secure_boot": "True"}}`, `{"capabilities": "boot_mode:bios"}`, provision.UEFI},
		{`{"deploy_boot_mode": "bios"}`, `{"capabilities": 7}`, provision.BIOS},
		{`{"capabilities": {"boot_mode": "uefi"}}`, `{"capabilities": "boot_mode:bios"}`, ""},
		{`{"capabilities": "boot_mode:bios"}`, `{}`, ""},
	} {
		got, err := infoFor(t, &baremetal.Node{Properties: json.RawMessage(c.properties)}, c.instance).BootMode()
		if got != c.want || (c.want == "") != faults.Is(err, faults.Invalid) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}
