package pci

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/internal/numa"
)

var aliases = Aliases{
	"gpu":  {Specs: []Spec{{Vendor: "10de", Product: "1eb8"}}},
	"near": {Policy: Required, Specs: []Spec{{Vendor: "10de", Product: "1eb8"}}},
	"card": {Specs: []Spec{{Vendor: "8086", Product: "1572", Type: Physical}}},
	"any":  {Policy: Preferred, Specs: []Spec{{Vendor: "10de", Product: "1eb8"}, {Vendor: "8086", Product: "154d"}}},
	"part": {Policy: Preferred, Specs: []Spec{{Vendor: "8086", Product: "154c", Type: Virtual}, {Vendor: "8086", Product: "154d", Type: Virtual}}},
}

func TestSettings(t *testing.T) {
	t.Parallel()
	got, err := ReadAliases([]string{`{"name": "gpu", "vendor_id": "10DE", "product_id": "1eb8", "device_type": "type-PF", "numa_policy": "required"}`,
		`{"name": "gpu", "vendor_id": "10de", "product_id": "1eb9", "device_type": "type-PF", "numa_policy": "required"}`})
	if want := `map[gpu:{required [{10de 1eb8 type-PF} {10de 1eb9 type-PF}]}]`; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{`{}`, `gpu`, `{"name": "a:b", "vendor_id": "1", "product_id": "2"}`, `{"name": "a", "vendor_id": "1"}`,
		`{"name": "a", "vendor_id": "1", "product_id": "2", "device_type": "usb"}`, `{"name": "a", "vendor_id": "1", "product_id": "2", "x": 1}`} {
		if _, err := ReadAliases([]string{wrong}); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
	lent, err := ReadLent([]string{`{"vendor_id": "10de"}`, `{"address": "0000:81:*.*", "product_id": "154c"}`})
	if err != nil {
		t.Fatal(err)
	}
	of := lent.Of([]Device{{Address: "0000:01:00.0", Vendor: "10de"}, {Address: "0000:81:02.0", Product: "154c"}, {Address: "0000:81:02.1", Product: "1"},
		{Address: "0000:82:02.0", Product: "154c"}})
	if len(of) != 2 || of[1].Address != "0000:81:02.0" {
		t.Errorf("%+v are lent", of)
	}
	for _, wrong := range []string{`{}`, `{"address": "["}`, `{"name": "gpu"}`} {
		if _, err := ReadLent([]string{wrong}); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ alias, flavor, image, want string }{
		{"", "", "", "[]"},
		{"gpu:1, part:2", "", "", "[gpu 1  part 2 preferred]"},
		{"gpu:1", "required", "", "[gpu 1 required]"},
		{"gpu:1", "", "socket", "[gpu 1 socket]"},
		{"gpu:1", "legacy", "socket", "Image property 'hw_pci_numa_affinity_policy' is not permitted to override the 'hw:pci_numa_affinity_policy' flavor extra spec."},
		{"gpu:1", "near", "", "Invalid PCI NUMA affinity configured: near"},
		{"tpu:1", "", "", "PCI alias tpu is not defined"},
		{"gpu:0", "", "", "Invalid PCI alias definition: '0' is no number of devices"},
		{"gpu", "", "", "Invalid PCI alias definition: '' is no number of devices"},
	} {
		all, err := aliases.Read(map[string]string{specAlias: c.alias, specPolicy: c.flavor}, map[string]string{propertyPolicy: c.image})
		words := []string{}
		for _, r := range all {
			words = append(words, fmt.Sprint(r.Name, " ", r.Count, " ", r.Policy))
		}
		got := fmt.Sprint(words)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %s, %s: %s, want %s", c.alias, c.flavor, c.image, got, c.want)
		}
	}
}

// machine has a GPU next to each of three cells and one next to none; cells 0 and 1
// are on one socket.
func machine() Host {
	h := Host{Cells: &numa.Host{Cells: []numa.Cell{{ID: 0}, {ID: 1}, {ID: 2, Socket: 1}}}}
	for cell := range 3 {
		h.Devices = append(h.Devices, Device{Address: fmt.Sprintf("0000:0%d:00.0", cell), Vendor: "10de", Product: "1eb8", Type: Standard, Cell: &cell})
	}
	return Host{Cells: h.Cells, Devices: append(h.Devices, Device{Address: "0000:09:00.0", Vendor: "10de", Product: "1eb8", Type: Standard},
		Device{Address: "0000:10:00.0", Vendor: "8086", Product: "1572", Type: Physical}, Device{Address: "0000:10:02.0", Vendor: "8086", Product: "154d", Type: Virtual})}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	on := func(cell int) *numa.Placement { return &numa.Placement{Cells: []numa.Placed{{Host: cell}}} }
	for _, c := range []struct {
		alias  string
		policy string
		on     *numa.Placement
		want   string
	}{
		{"gpu:4", "", nil, "[00 01 02 09]"},
		{"gpu:5", "", nil, "false"},
		{"near:1", "", nil, "[00]"},
		{"near:1", "", on(1), "[01]"},
		{"near:2", "", on(1), "false"},
		{"gpu:2", "", on(1), "[01 09]"},
		{"gpu:3", "", on(1), "false"},
		{"gpu:2", "socket", on(1), "[01 00]"},
		{"gpu:2", "socket", on(2), "false"},
		{"gpu:4", "preferred", on(1), "[01 00 09 02]"},
		{"gpu:1,near:1", "", on(1), "[09 01]"},
		{"card:1,part:1", "", nil, "[10 10]"},
		{"any:1,gpu:4", "", nil, "[10 01 02 09 00]"},
		{"any:1,near:1", "", on(1), "[00 01]"},
		{"any:2,gpu:4", "", nil, "false"},
	} {
		requests, err := aliases.Read(map[string]string{specAlias: c.alias, specPolicy: c.policy}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, ok := Assign(machine(), nil, requests, c.on)
		buses := []string{}
		for _, a := range all {
			buses = append(buses, a.Address[5:7])
		}
		got := fmt.Sprint(buses)
		if !ok {
			got = "false"
		}
		if got != c.want {
			t.Errorf("%s, %s on %+v: %s, want %s", c.alias, c.policy, c.on, got, c.want)
		}
	}
}

// A guest that asks for devices of two kinds lies next to both, not to most of one.
func TestCellsAreThoseOfItsDevices(t *testing.T) {
	t.Parallel()
	few, many := 0, 1
	h := Host{Cells: &numa.Host{Cells: []numa.Cell{{ID: few, Shared: numa.CPUs{0}, MemoryMB: 1024}, {ID: many, Shared: numa.CPUs{1}, MemoryMB: 2048}}}}
	for slot := range 3 {
		h.Devices = append(h.Devices, Device{Address: fmt.Sprintf("0000:01:0%d.0", slot), Vendor: "10de", Product: "1eb8", Type: Standard, Cell: &many})
	}
	h.Devices = append(h.Devices, Device{Address: "0000:02:00.0", Vendor: "10de", Product: "1eb8", Type: Standard, Cell: &few},
		Device{Address: "0000:02:01.0", Vendor: "8086", Product: "154d", Type: Virtual, Cell: &few})
	cells, err := numa.Read(map[string]string{"hw:numa_nodes": "1"}, nil, 1, 512)
	if err != nil {
		t.Fatal(err)
	}
	for alias, want := range map[string]int{"gpu:1,part:1": few, "gpu:2": many, "gpu:1": many} {
		requests, err := aliases.Read(map[string]string{specAlias: alias, specPolicy: "required"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		placed, all, ok := Fit(h, nil, nil, cells, requests, numa.Limits{CPU: 1, RAM: 1})
		if !ok || placed.Cells[0].Host != want || len(all) == 0 {
			t.Errorf("%s: on %+v with %v, %v; want cell %d", alias, placed, all, ok, want)
		}
	}
}

// A device that two of its requests would take is one device: the guest lies where
// both have one.
func TestCellsOfDevicesOfOneKind(t *testing.T) {
	t.Parallel()
	one, two := 0, 1
	h := Host{Cells: &numa.Host{Cells: []numa.Cell{{ID: one, Shared: numa.CPUs{0}, MemoryMB: 2048}, {ID: two, Shared: numa.CPUs{1}, MemoryMB: 1024}}}}
	for slot, cell := range []*int{&one, &two, &two} {
		h.Devices = append(h.Devices, Device{Address: fmt.Sprintf("0000:01:0%d.0", slot), Vendor: "10de", Product: "1eb8", Type: Standard, Cell: cell})
	}
	cells, err := numa.Read(map[string]string{"hw:numa_nodes": "1"}, nil, 1, 512)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := aliases.Read(map[string]string{specAlias: "gpu:1,any:1", specPolicy: "required"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if placed, all, ok := Fit(h, nil, nil, cells, requests, numa.Limits{CPU: 1, RAM: 1}); !ok || placed.Cells[0].Host != two {
		t.Errorf("on %+v with %v, %v; want cell %d", placed, all, ok, two)
	}
}

// A card and its parts are not both given away, be it to one guest or to two.
func TestACardOrItsParts(t *testing.T) {
	t.Parallel()
	const card, other, part, second = "0000:10:00.0", "0000:11:00.0", "0000:10:02.0", "0000:10:02.1"
	h := Host{Devices: []Device{
		{Address: card, Vendor: "8086", Product: "1572", Type: Physical},
		{Address: part, Vendor: "8086", Product: "154c", Type: Virtual, Parent: card},
		{Address: second, Vendor: "8086", Product: "154d", Type: Virtual, Parent: card},
	}}
	two := Host{Devices: append(slices.Clone(h.Devices), Device{Address: other, Vendor: "8086", Product: "154c", Type: Virtual, Parent: "0000:11:00.7"})}
	for _, c := range []struct {
		host  Host
		taken Taken
		asked string
		want  string
	}{
		{h, nil, "card:1", "[" + card + "] true"},
		{h, nil, "part:2", "[" + part + " " + second + "] true"},
		{h, nil, "part:1,card:1", "[] false"},
		{two, nil, "part:1,card:1", "[" + card + " " + other + "] true"},
		{h, Taken{part: true}, "card:1", "[] false"},
		{h, Taken{part: true}, "part:1", "[" + second + "] true"},
		{h, Taken{card: true}, "part:1", "[] false"},
		{two, Taken{card: true}, "part:1", "[" + other + "] true"},
	} {
		requests, err := aliases.Read(map[string]string{specAlias: c.asked}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, ok := Assign(c.host, c.taken, requests, nil)
		if got := fmt.Sprint(all.Addresses(), ok); got != c.want {
			t.Errorf("%s beside %v: %s, want %s", c.asked, c.taken, got, c.want)
		}
	}
}

// Guests one after the other: no device is given twice, none that isn't there.
func TestNoDeviceIsGivenTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		taken, known := Taken{}, map[string]bool{}
		for _, d := range machine().Devices {
			known[d.Address] = true
		}
		for range rapid.IntRange(1, 8).Draw(t, "guests") {
			asked := fmt.Sprintf("%s:%d", rapid.SampledFrom([]string{"gpu", "near", "card", "part"}).Draw(t, "alias"), rapid.IntRange(1, 3).Draw(t, "count"))
			requests, err := aliases.Read(map[string]string{specAlias: asked}, nil)
			if err != nil {
				t.Fatal(err)
			}
			all, _ := Assign(machine(), taken, requests, nil)
			for _, a := range all {
				if taken[a.Address] || !known[a.Address] {
					t.Fatalf("%s is given again, or isn't there", a.Address)
				}
				taken[a.Address] = true
			}
		}
	})
}
