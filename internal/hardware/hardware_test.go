package hardware

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/faults"
)

func TestTypesAreTheContracts(t *testing.T) {
	t.Parallel()
	var contract struct {
		InterfaceTypes []Interface `json:"interface_types"`
		HardwareTypes  map[string]struct {
			Interfaces map[Interface]struct {
				Supported []string `json:"supported_in_priority_order"`
				Default   *string  `json:"default_with_stock_config"`
			}
		} `json:"hardware_types"`
		DriverInfo struct {
			Listed map[Interface]map[string][]string `json:"listed_by_GET_driver_properties"`
		} `json:"driver_info"`
	}
	contracttest.Read(t, "baremetal/drivers.json", &contract)
	if !slices.Equal(Interfaces(), contract.InterfaceTypes) {
		t.Errorf("%v, not %v", Interfaces(), contract.InterfaceTypes)
	}
	enabled, err := Enable([]string{"ipmi", "redfish"})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range types {
		want := contract.HardwareTypes[own.Name]
		for _, i := range Interfaces() {
			if !slices.Equal(own.Supports[i], want.Interfaces[i].Supported) {
				t.Errorf("%s %s: %v, not %v", own.Name, i, own.Supports[i], want.Interfaces[i].Supported)
			}
			if d := want.Interfaces[i].Default; d != nil && slices.Contains(enabled.Types(), own.Name) && enabled.Default(own, i) != *d {
				t.Errorf("%s %s: %s by default, not %s", own.Name, i, enabled.Default(own, i), *d)
			}
		}
	}
	for i, implementations := range listed {
		for name, properties := range implementations {
			// The contract doesn't list the fake ones.
			if want, known := contract.DriverInfo.Listed[i][name]; (known || !strings.Contains(strings.ToLower(name), fake)) && !slices.Equal(properties, want) {
				t.Errorf("%s %s reads %v, not %v", i, name, properties, contract.DriverInfo.Listed[i][name])
			}
			for _, property := range properties {
				if meanings[property] == "" {
					t.Errorf("nothing says what %s is", property)
				}
			}
		}
	}
}

func TestStockIsTheContracts(t *testing.T) {
	t.Parallel()
	var contract struct {
		Options map[string]map[string]struct{ Default any }
	}
	contracttest.Read(t, "baremetal/config-defaults.json", &contract)
	for _, i := range Interfaces() {
		want, _ := contract.Options["DEFAULT"]["enabled_"+string(i)+"_interfaces"].Default.([]any)
		var names []string
		for _, name := range want {
			names = append(names, name.(string))
		}
		if !slices.Equal(stock[i], names) {
			t.Errorf("%s: %v, not %v", i, stock[i], names)
		}
	}
}

func TestWhatANodeGets(t *testing.T) {
	t.Parallel()
	enabled, err := Enable([]string{"redfish", "fake-hardware", "manual-management"})
	if err != nil {
		t.Fatal(err)
	}
	if got := enabled.Types(); !slices.Equal(got, []string{"fake-hardware", "manual-management", "redfish"}) {
		t.Error(got)
	}
	for _, c := range []struct {
		kind  string
		i     Interface
		asked string
		want  string
		err   string
	}{
		{"fake-hardware", Power, "", "fake", ""},
		{"fake-hardware", Deploy, "", "fake", ""},
		{"fake-hardware", Deploy, "direct", "direct", ""},
		{"redfish", Power, "", "redfish", ""},
		{"redfish", Management, "noop", "noop", ""},
		{"manual-management", Management, "", "noop", ""},
		{"redfish", Power, "fake", "", "power interface implementation 'fake' is not supported by hardware type redfish."},
		{"redfish", Inspect, "agent", "", "Could not find the following interface in the 'ironic.hardware.interfaces.inspect' entrypoint: agent. " +
			"Valid interfaces are ['no-inspect', 'redfish', 'fake']."},
	} {
		own, err := enabled.Type(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		got, err := enabled.Choose(own, c.i, c.asked)
		message := ""
		if err != nil {
			message = faults.As(err).Message
		}
		if got != c.want || message != c.err {
			t.Errorf("%+v: %q, %q", c, got, message)
		}
	}
	if _, err := enabled.Type("ipmi"); !faults.Is(err, faults.NotFound) {
		t.Error(err)
	}
	if _, err := Enable([]string{"nothing"}); !faults.Is(err, faults.Invalid) {
		t.Error(err)
	}
	own, _ := enabled.Type("redfish")
	if names := slices.Collect(maps.Keys(enabled.Properties(own))); !slices.Contains(names, "redfish_address") || !slices.Contains(names, "deploy_kernel") {
		t.Error(names)
	}
	everything, err := Enable([]string{fakeType})
	if err != nil {
		t.Fatal(err)
	}
	if own, _ = everything.Type(fakeType); len(everything.Properties(own)) == 0 {
		t.Error("the fake hardware reads nothing")
	}
}

// Implementations that are asked for stand in the place of the stock ones.
func TestEnableInterfaces(t *testing.T) {
	t.Parallel()
	e, err := Enable([]string{"fake-hardware", "redfish"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.EnableInterfaces(Rescue, []string{"agent", "no-rescue"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"redfish": "no-rescue", "fake-hardware": "fake"} {
		kind, err := e.Type(name)
		if got, chosen := e.Default(kind, Rescue), e.Choices(kind, Rescue); err != nil || got != want || !slices.Contains(chosen, "agent") {
			t.Errorf("%s: %s, %v, %v", name, got, chosen, err)
		}
	}
	if err := e.EnableInterfaces(Rescue, []string{"rope"}); !faults.Is(err, faults.Invalid) {
		t.Errorf("%v", err)
	}
}

// Nodes that name none have what is preferred, where their type supports it.
func TestPrefer(t *testing.T) {
	t.Parallel()
	e, err := Enable([]string{"redfish"})
	if err != nil {
		t.Fatal(err)
	}
	kind, err := e.Type("redfish")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ preferred, want string }{{"", "flat"}, {"noop", "noop"}, {"neutron", "noop"}} {
		err := e.Prefer(Network, c.preferred)
		if got := e.Default(kind, Network); got != c.want || faults.Is(err, faults.Invalid) != (c.preferred == "neutron") {
			t.Errorf("%q: %s, %v", c.preferred, got, err)
		}
	}
}
