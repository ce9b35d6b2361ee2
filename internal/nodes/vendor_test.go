package nodes

import (
	"slices"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// The methods of vendor interfaces are the contract's, each called as there.
func TestVendorMethodsAreTheContracts(t *testing.T) {
	t.Parallel()
	type method struct {
		Method      string   `json:"method"`
		HTTPMethods []string `json:"http_methods"`
		Async       bool     `json:"async"`
		Attach      bool     `json:"attach"`
		Exclusive   bool     `json:"require_exclusive_lock"`
	}
	var contract struct {
		Vendor map[string]struct {
			Methods []method `json:"node_methods"`
		} `json:"vendor_passthru"`
	}
	contracttest.Read(t, "baremetal/drivers.json", &contract)
	for _, name := range []string{"fake", "ipmitool", "redfish"} {
		own, want := VendorMethods(name), contract.Vendor[name].Methods
		if len(own) != len(want) || len(want) == 0 {
			t.Errorf("%s has %d methods, not %d", name, len(own), len(want))
		}
		for _, w := range want {
			if m := own[w.Method]; !slices.Equal(m.HTTPMethods, w.HTTPMethods) || m.Async != w.Async || m.Attach != w.Attach || m.Exclusive != w.Exclusive || m.Description == "" {
				t.Errorf("%s %s: %+v, not %+v", name, w.Method, m, w)
			}
		}
	}
}
