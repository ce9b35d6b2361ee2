package ironic_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/ironic"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/iso/isotest"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/steps"
)

func yes() error { return nil }

var spec = steps.ServerSpec{ServerID: server, Name: "web", Hostname: "web", ProjectID: "p", UserID: "u", VCPUs: 2, MemoryMB: 512, RootGB: 10, ImageID: "an-image",
	Flavor: "metal", ConfigDrive: true, Ports: []steps.Port{{ID: "vif-1"}, {ID: "vif-2"}},
	ExtraSpecs:      map[string]string{"trait:CUSTOM_FAST": "required", "trait2:HW_CPU_X86_VMX": "required", "trait:CUSTOM_OLD": "forbidden", "capabilities:boot_mode": "uefi", "resources:CUSTOM_GOLD_1": "1"},
	ImageProperties: map[string]string{"trait:CUSTOM_FAST": "required", "os_distro": "debian"}}

// What a node is for the scheduler, and when it is to be had.
func TestInventory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set      map[string]any
		reserved int64
		guests   []libvirt.Guest
	}{
		"free":             {nil, 0, nil},
		"in maintenance":   {map[string]any{"maintenance": true}, 1, nil},
		"of unknown power": {map[string]any{"power_state": nil}, 1, nil},
		"power error":      {map[string]any{"power_state": "error"}, 1, nil},
		"manageable":       {map[string]any{"provision_state": "manageable"}, 1, nil},
		"being cleaned":    {map[string]any{"provision_state": "cleaning"}, 1, nil},
		"somebody's else":  {map[string]any{"provision_state": "active", "instance_uuid": server, "power_state": "power on"}, 1, nil},
		"a server's":       {map[string]any{"provision_state": "active", "instance_uuid": server, "power_state": "power on", "instance_info": map[string]any{"nova_host_id": nodeID}}, 1, []libvirt.Guest{{ServerID: server, PowerState: libvirt.Running}}},
		"a server's, off":  {map[string]any{"provision_state": "active", "instance_uuid": server, "power_state": "power off", "instance_info": map[string]any{"nova_host_id": nodeID}}, 1, []libvirt.Guest{{ServerID: server, PowerState: libvirt.Shutdown}}},
		"being deployed":   {map[string]any{"provision_state": "deploying", "instance_uuid": server, "power_state": "power on", "instance_info": map[string]any{"nova_host_id": nodeID}}, 1, []libvirt.Guest{{ServerID: server}}},
	} {
		f, d, service := newFake(t)
		maps.Copy(f.node, c.set)
		if _, err := d.Inventory(t.Context()); !faults.Is(err, faults.Unavailable) {
			t.Errorf("%s: nobody has listed nodes, and it says %v", name, err)
		}
		all, err := service.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Inventory(t.Context())
		want := map[string]provider.Inventory{"CUSTOM_GOLD_1": {Total: 1, Reserved: c.reserved, MinUnit: 1, MaxUnit: 1, StepSize: 1, Ratio: 1}}
		if err != nil || !reflect.DeepEqual(got.Resources, want) || got.VCPUs != 0 || got.MemoryMB != 0 || got.DiskGB != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if err := (provider.Have{Inventories: got.Resources}).Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		const details = `{"boot_mode":"uefi","cpu_arch":"x86_64","hypervisor_type":"ironic","hypervisor_version":1,"raid_level":"1","supported_instances":[["x86_64","baremetal","hvm"]],"traits":["CUSTOM_FAST","HW_CPU_X86_VMX"]}`
		if string(got.Details) != details {
			t.Errorf("%s: %s", name, got.Details)
		}
		guests, err := d.List(t.Context())
		if err != nil || !slices.Equal(guests, c.guests) {
			t.Errorf("%s: %+v, %v", name, guests, err)
		}
		for _, known := range []bool{false, true} {
			if got := ironic.Offered(all, func(string) bool { return known }); (len(got) == 1) != (known || c.reserved == 0) {
				t.Errorf("%s, known %v: %v", name, known, got)
			}
		}
		all[0].ResourceClass = ""
		if got := ironic.Offered(all, func(string) bool { return true }); len(got) != 0 {
			t.Errorf("%s without a class: %v", name, got)
		}
	}
}

// A node that is gone is a host of nothing, whose guest is gone with it.
func TestNodeThatIsGone(t *testing.T) {
	t.Parallel()
	f, _, service := newFake(t)
	d := service.Driver("another", drives{})
	if _, err := service.Nodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	has, err := d.Inventory(t.Context())
	guests, listErr := d.List(t.Context())
	if err != nil || listErr != nil || len(has.Resources) > 0 || len(guests) > 0 {
		t.Errorf("%+v, %v; %+v, %v", has, err, guests, listErr)
	}
	if err := d.Destroy(t.Context(), server, yes); err != nil || len(f.did) > 0 {
		t.Errorf("its guest is destroyed: %v, did %v", err, f.did)
	}
}

func (f *fake) info() map[string]any { return f.node["instance_info"].(map[string]any) }

// A node is deployed as the server asks, once, and given back.
func TestBuildAndDestroy(t *testing.T) {
	t.Parallel()
	f, d, _ := newFake(t)
	for range 2 {
		g, err := d.Build(t.Context(), spec, yes)
		if err != nil || g != (libvirt.Guest{ServerID: server, PowerState: libvirt.Running}) {
			t.Fatalf("%+v, %v", g, err)
		}
	}
	if !slices.Equal(f.did, []string{"active"}) || !slices.Equal(f.vifs, []string{"vif-1", "vif-2"}) || f.node["instance_uuid"] != server {
		t.Errorf("did %v, bears %v, is %v's", f.did, f.vifs, f.node["instance_uuid"])
	}
	want := map[string]any{"image_source": "an-image", "root_gb": "10", "swap_mb": "0", "display_name": "web", "vcpus": "2", "memory_mb": "512", "local_gb": "100",
		"project_id": "p", "user_id": "u", "flavor_name": "metal", "nova_host_id": nodeID, "traits": []any{"CUSTOM_FAST", "HW_CPU_X86_VMX"}, "capabilities": `{"boot_mode":"uefi"}`}
	if !reflect.DeepEqual(f.info(), want) {
		t.Errorf("instance_info is %v", f.info())
	}
	if said := f.told(t, "meta_data.json"); said["admin_pass"] != "s3cret" {
		t.Errorf("the config drive says %v", said)
	}
	if err := d.Destroy(t.Context(), "another", yes); err != nil || f.node["provision_state"] != "active" {
		t.Errorf("destroyed for another: %v", err)
	}
	for range 2 {
		if err := d.Destroy(t.Context(), server, yes); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(f.did, []string{"active", "deleted"}) || f.node["instance_uuid"] != nil || len(f.vifs) != 0 || f.node["provision_state"] != "cleaning" {
		t.Errorf("did %v: %v", f.did, f.node)
	}
	if _, err := d.Observe(t.Context(), server); !faults.Is(err, faults.NotFound) {
		t.Errorf("a guest that is gone: %v", err)
	}
}

// told is a document of the config drive that the node has got.
func (f *fake) told(t *testing.T, name string) (doc map[string]any) {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(f.drive)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	image, err := io.ReadAll(plain)
	if err == nil {
		err = json.Unmarshal([]byte(isotest.Drive(t, image, name)[name]), &doc)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

// An instance is told of the ports of its node that bear its VIFs, and of bonds of them: by
// their hardware addresses, since its own are nowhere. A VIF that nothing bears is told of
// as it is.
func TestNetworkData(t *testing.T) {
	t.Parallel()
	f, d, _ := newFake(t)
	f.nics = []map[string]any{
		{"uuid": "nic-1", "address": "52:54:00:00:00:01", "internal_info": map[string]any{"tenant_vif_port_id": "vif-1"}},
		{"uuid": "nic-2", "address": "52:54:00:00:00:02", "internal_info": map[string]any{}, "portgroup_uuid": "bond-1"},
		{"uuid": "nic-3", "address": "52:54:00:00:00:03", "internal_info": map[string]any{}, "portgroup_uuid": "bond-1"},
	}
	f.bonds = []map[string]any{{"uuid": "bond-1", "address": "52:54:00:00:00:02", "mode": "802.3ad", "properties": map[string]any{"miimon": 100, "bond_xmit": "layer2"},
		"internal_info": map[string]any{"tenant_vif_port_id": "vif-2"}}}
	want := map[string]any{"networks": []any{}, "services": []any{}, "links": []any{
		map[string]any{"id": "tap1", "vif_id": "vif-1", "type": "phy", "mtu": 1500.0, "ethernet_mac_address": "52:54:00:00:00:01"},
		map[string]any{"id": "tap2", "vif_id": "vif-2", "type": "bond", "mtu": 9000.0, "ethernet_mac_address": "52:54:00:00:00:02",
			"bond_mode": "802.3ad", "bond_miimon": 100.0, "bond_xmit": "layer2", "bond_links": []any{"nic-2", "nic-3"}},
		map[string]any{"id": "tap3", "vif_id": "vif-3", "type": "other", "mtu": 1500.0, "ethernet_mac_address": "fa:16:3e:00:00:03"},
		map[string]any{"id": "nic-2", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:02"},
		map[string]any{"id": "nic-3", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:03"},
	}}
	_, err := d.Build(t.Context(), spec, yes)
	if got := f.told(t, "network_data.json"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("built, it is told\n%v, %v; want\n%v", got, err, want)
	}
	f.bonds[0]["address"], f.nics[0]["address"] = nil, "52:54:00:00:00:09"
	links := want["links"].([]any)
	links[0].(map[string]any)["ethernet_mac_address"], links[1].(map[string]any)["ethernet_mac_address"] = "52:54:00:00:00:09", "fa:16:3e:00:00:02"
	_, err = d.Rebuild(t.Context(), steps.RebuildIn{Spec: spec}, "op#1", yes)
	if got := f.told(t, "network_data.json"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("rebuilt, it is told\n%v, %v; want\n%v", got, err, want)
	}
}

// cut has every request fail in turn, not done, and done with its answer lost; f is run
// until it succeeds.
func cut(t *testing.T, prepare func(t *testing.T) (*fake, func() error), holds func(f *fake) error) {
	t.Helper()
	for _, done := range []bool{false, true} {
		for at := 1; ; at++ {
			f, act := prepare(t)
			first := f.n
			f.fails = func(n int) (bool, bool) { return n != first+at || done, n != first+at }
			err := act()
			for tries := 0; err != nil && tries < 5; tries++ {
				if !faults.As(err).Kind.Retryable() {
					break
				}
				err = act()
			}
			if err != nil {
				t.Fatalf("cut at request %d (done %v): %v", at, done, err)
			}
			if err := holds(f); err != nil {
				t.Errorf("cut at request %d (done %v): %v", at, done, err)
			}
			if f.n < first+at {
				break
			}
		}
	}
}

func TestBuildCutShort(t *testing.T) {
	t.Parallel()
	cut(t, func(t *testing.T) (*fake, func() error) {
		f, d, _ := newFake(t)
		return f, func() error { _, err := d.Build(t.Context(), spec, yes); return err }
	}, func(f *fake) error {
		if !slices.Equal(f.did, []string{"active"}) || len(f.vifs) != 2 || f.node["provision_state"] != "active" || f.drive == "" {
			return fmt.Errorf("did %v, bears %v, is %v", f.did, f.vifs, f.node["provision_state"])
		}
		return nil
	})
}

// A build that ends anywhere is undone: the node is nobody's.
func TestBuildUndone(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		for at := 1; ; at++ {
			f, d, _ := newFake(t)
			ctx, cancel := context.WithCancel(t.Context())
			f.fails = func(n int) (bool, bool) {
				if n == at && cancelled {
					cancel()
				}
				return true, n != at || cancelled
			}
			_, err := d.Build(ctx, spec, yes)
			cancel()
			reached := f.n >= at
			f.fails = nil
			if err := d.Destroy(t.Context(), server, yes); err != nil {
				t.Fatalf("at %d: %v", at, err)
			}
			if f.node["instance_uuid"] != nil || len(f.vifs) != 0 || len(f.info()) != 0 || !slices.Contains([]any{"available", "cleaning"}, f.node["provision_state"]) {
				t.Errorf("ended at request %d (%v): left %v, bears %v", at, err, f.node, f.vifs)
			}
			if !reached {
				break
			}
		}
	}
}

func TestDestroyCutShort(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]func(f *fake){
		"deployed":        func(*fake) {},
		"never asked for": func(f *fake) { f.node["provision_state"] = "available" },
		"failed":          func(f *fake) { f.node["provision_state"] = "deploy failed" },
	} {
		cut(t, func(t *testing.T) (*fake, func() error) {
			f, d, _ := newFake(t)
			if _, err := d.Build(t.Context(), spec, yes); err != nil {
				t.Fatal(err)
			}
			f.did = nil
			half(f)
			return f, func() error { return d.Destroy(t.Context(), server, yes) }
		}, func(f *fake) error {
			if len(f.did) > 1 || f.node["instance_uuid"] != nil || len(f.vifs) != 0 || len(f.info()) != 0 {
				return fmt.Errorf("%s: did %v, left %v", name, f.did, f.node)
			}
			return nil
		})
	}
}

// What is in the way of a build, and whether another node may do.
func TestNotBuilt(t *testing.T) {
	t.Parallel()
	stale := errors.New("stale")
	for name, c := range map[string]struct {
		set     map[string]any
		refuses map[string]string
		confirm libvirt.Confirm
		spec    func(*steps.ServerSpec)
		kind    faults.Kind
		text    string
		mine    bool // the node is the server's, and to be undone
	}{
		"in maintenance":      {set: map[string]any{"maintenance": true}, kind: faults.NoCapacity, text: "Chosen ironic node " + nodeID + " is not available."},
		"somebody's":          {set: map[string]any{"instance_uuid": "other"}, kind: faults.NoCapacity, text: "is not available"},
		"deployed by another": {set: map[string]any{"instance_uuid": "other", "provision_state": "active"}, kind: faults.NoCapacity, text: "is not available"},
		"being cleaned":       {set: map[string]any{"provision_state": "cleaning"}, kind: faults.NoCapacity, text: "is not available"},
		"with a volume":       {spec: func(s *steps.ServerSpec) { s.Volumes = []steps.Volume{{ID: "v"}} }, kind: faults.Invalid, text: "no volumes"},
		"not valid": {refuses: map[string]string{"deploy": "no image"}, kind: faults.NoCapacity, mine: true,
			text: "Ironic node: " + nodeID + " failed to validate. (deploy: no image, power: No Error, storage: No Error)"},
		"without a port": {refuses: map[string]string{"vif": "not enough free physical ports."}, kind: faults.NoCapacity, mine: true,
			text: "Cannot attach VIF vif-1 to the node " + nodeID + " due to error: not enough free physical ports."},
		"refused":              {refuses: map[string]string{"active": "no power"}, kind: faults.NoCapacity, mine: true, text: "no power"},
		"failed":               {refuses: map[string]string{"end active": "the disk is broken"}, kind: faults.NoCapacity, mine: true, text: "Failed to provision instance " + server + ": the disk is broken"},
		"owned by a newer one": {confirm: func() error { return stale }, text: "stale"},
	} {
		f, d, _ := newFake(t)
		maps.Copy(f.node, c.set)
		maps.Copy(f.refuses, c.refuses)
		asked, confirm := spec, c.confirm
		if c.spec != nil {
			c.spec(&asked)
		}
		if confirm == nil {
			confirm = yes
		}
		_, err := d.Build(t.Context(), asked, confirm)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.kind != "" && faults.As(err).Kind != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		if mine := f.node["instance_uuid"] == server; mine != c.mine {
			t.Errorf("%s: is the server's %v", name, mine)
		}
	}
}

func TestPower(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was     string
		refuses map[string]string
		action  steps.PowerAction
		did     []string
		state   int
	}{
		"start":             {"power off", nil, steps.PowerStart, []string{"power on"}, libvirt.Running},
		"started":           {"power on", nil, steps.PowerStart, nil, libvirt.Running},
		"stop":              {"power on", nil, steps.PowerStop, []string{"soft power off"}, libvirt.Shutdown},
		"stop, not soft":    {"power on", map[string]string{"soft power off": "unknown"}, steps.PowerStop, []string{"power off"}, libvirt.Shutdown},
		"stop, not heeded":  {"power on", map[string]string{"heed soft power off": "it"}, steps.PowerStop, []string{"soft power off", "power off"}, libvirt.Shutdown},
		"force stop":        {"power on", nil, steps.PowerForceStop, []string{"power off"}, libvirt.Shutdown},
		"reboot":            {"power on", nil, steps.PowerReboot, []string{"soft rebooting"}, libvirt.Running},
		"reboot, not soft":  {"power on", map[string]string{"soft rebooting": "unknown"}, steps.PowerReboot, []string{"rebooting"}, libvirt.Running},
		"hard reboot":       {"power off", nil, steps.PowerHardReboot, []string{"rebooting"}, libvirt.Running},
		"interrupt":         {"power on", nil, steps.PowerInjectNMI, []string{"nmi"}, libvirt.Running},
		"freeze":            {"power on", nil, steps.PowerFreeze, nil, libvirt.Running},
		"undo of no resize": {"power on", nil, steps.PowerUndoResize, nil, libvirt.Running},
		"keep of no resize": {"power off", nil, steps.PowerKeepResize, nil, libvirt.Shutdown},
		"undo of no rescue": {"power on", nil, steps.PowerUndoRescue, nil, libvirt.Running},
	} {
		f, d, _ := newFake(t)
		if _, err := d.Build(t.Context(), spec, yes); err != nil {
			t.Fatal(err)
		}
		f.did, f.node["power_state"] = nil, c.was
		maps.Copy(f.refuses, c.refuses)
		for range 2 { // the same reboot is done once
			g, err := d.Power(t.Context(), server, c.action, "op#1", yes)
			if err != nil || g.PowerState != c.state {
				t.Errorf("%s: %+v, %v", name, g, err)
			}
		}
		if !slices.Equal(f.did, c.did) {
			t.Errorf("%s: did %v, want %v", name, f.did, c.did)
		}
	}
	f, d, _ := newFake(t)
	if _, err := d.Power(t.Context(), server, steps.PowerStart, "op#1", yes); !faults.Is(err, faults.NotFound) || len(f.did) > 0 {
		t.Errorf("no guest: %v", err)
	}
}

// An action that a node doesn't heed has failed of what the node says, whoever asks again.
func TestPowerNotHeeded(t *testing.T) {
	t.Parallel()
	for action, c := range map[steps.PowerAction]struct{ was, heed, code, text string }{
		steps.PowerStart:      {"power off", "heed power on", "InstancePowerOnFailure", "Failed to power on instance: the BMC refuses"},
		steps.PowerStop:       {"power on", "heed power off", "InstancePowerOffFailure", "Failed to power off instance: the BMC refuses"},
		steps.PowerForceStop:  {"power on", "heed power off", "InstancePowerOffFailure", "Failed to power off instance: the BMC refuses"},
		steps.PowerReboot:     {"power on", "heed soft rebooting", "InstanceRebootFailure", "Failed to reboot instance: the BMC refuses"},
		steps.PowerHardReboot: {"power on", "heed rebooting", "InstanceRebootFailure", "Failed to reboot instance: the BMC refuses"},
	} {
		f, d, _ := newFake(t)
		if _, err := d.Build(t.Context(), spec, yes); err != nil {
			t.Fatal(err)
		}
		f.node["power_state"], f.refuses[c.heed], f.refuses["heed soft power off"] = c.was, "the BMC refuses", "it doesn't listen"
		for range 2 {
			_, err := d.Power(t.Context(), server, action, "op#1", yes)
			if f := faults.As(err); err == nil || f.Kind != faults.Conflict || f.Code != c.code || f.Message != c.text {
				t.Errorf("%s: %v", action, err)
			}
		}
	}
}

// A restart is asked for once at the most for one request, whatever is cut short.
func TestRebootCutShort(t *testing.T) {
	t.Parallel()
	cut(t, func(t *testing.T) (*fake, func() error) {
		f, d, _ := newFake(t)
		if _, err := d.Build(t.Context(), spec, yes); err != nil {
			t.Fatal(err)
		}
		f.did = nil
		return f, func() error {
			_, err := d.Power(t.Context(), server, steps.PowerHardReboot, "op#1", yes)
			return err
		}
	}, func(f *fake) error {
		if len(f.did) > 1 {
			return fmt.Errorf("did %v", f.did)
		}
		return nil
	})
}

// One that is refused, since somebody else works on the node, is done by the next attempt.
func TestRebootOfALockedNode(t *testing.T) {
	t.Parallel()
	for action, did := range map[steps.PowerAction]string{steps.PowerReboot: "soft rebooting", steps.PowerHardReboot: "rebooting"} {
		f, d, _ := newFake(t)
		if _, err := d.Build(t.Context(), spec, yes); err != nil {
			t.Fatal(err)
		}
		f.did, f.looks, f.next = nil, 2, map[string]any{"target_power_state": nil}
		if _, err := d.Power(t.Context(), server, action, "op#1", yes); !faults.Is(err, faults.Unavailable) || len(f.did) > 0 {
			t.Errorf("%s of a locked node: %v, did %v", action, err, f.did)
		}
		if _, err := d.Power(t.Context(), server, action, "op#1", yes); err != nil || !slices.Equal(f.did, []string{did}) {
			t.Errorf("%s, again: %v, did %v", action, err, f.did)
		}
	}
}

func TestRebuildCutShort(t *testing.T) {
	t.Parallel()
	again := spec
	again.ImageID = "another-image"
	cut(t, func(t *testing.T) (*fake, func() error) {
		f, d, _ := newFake(t)
		if _, err := d.Build(t.Context(), spec, yes); err != nil {
			t.Fatal(err)
		}
		f.did, f.drive = nil, ""
		return f, func() error {
			g, err := d.Rebuild(t.Context(), steps.RebuildIn{Spec: again, KeepEphemeral: true}, "op#1", yes)
			if err == nil && g.PowerState != libvirt.Running {
				t.Errorf("%+v", g)
			}
			return err
		}
	}, func(f *fake) error {
		if !slices.Equal(f.did, []string{"rebuild"}) || f.info()["image_source"] != "another-image" || f.info()["preserve_ephemeral"] != "True" || f.drive == "" || f.node["instance_uuid"] != server {
			return fmt.Errorf("did %v: %v", f.did, f.node)
		}
		return nil
	})
	f, d, _ := newFake(t)
	if _, err := d.Build(t.Context(), spec, yes); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"op#1", "op#2", "op#2"} {
		if g, err := d.Rebuild(t.Context(), steps.RebuildIn{Spec: again, Off: true}, mark, yes); err != nil || g.PowerState != libvirt.Shutdown {
			t.Errorf("%+v, %v", g, err)
		}
	}
	if want := []string{"active", "rebuild", "power off", "rebuild", "power off"}; !slices.Equal(f.did, want) {
		t.Errorf("did %v, want %v", f.did, want)
	}
	f.refuses["end rebuild"] = "the disk is broken"
	if _, err := d.Rebuild(t.Context(), steps.RebuildIn{Spec: again}, "op#3", yes); err == nil || !strings.Contains(err.Error(), "the disk is broken") {
		t.Errorf("a rebuild that fails: %v", err)
	}
}

func TestRescueCutShort(t *testing.T) {
	t.Parallel()
	rescued := func(t *testing.T, there bool) (*fake, *ironic.Driver) {
		f, d, _ := newFake(t)
		_, err := d.Build(t.Context(), spec, yes)
		if err == nil && there {
			_, err = d.Rescue(t.Context(), server, steps.Rescue{}, yes)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.did = nil
		return f, d
	}
	is := func(verb, state string) func(f *fake) error {
		return func(f *fake) error {
			if !slices.Equal(f.did, []string{verb}) || f.node["provision_state"] != state {
				return fmt.Errorf("did %v, is %v", f.did, f.node["provision_state"])
			}
			return nil
		}
	}
	cut(t, func(t *testing.T) (*fake, func() error) {
		f, d := rescued(t, false)
		return f, func() error { _, err := d.Rescue(t.Context(), server, steps.Rescue{}, yes); return err }
	}, is("rescue", "rescue"))
	cut(t, func(t *testing.T) (*fake, func() error) {
		f, d := rescued(t, true)
		return f, func() error {
			_, err := d.Power(t.Context(), server, steps.PowerUnrescue, "op#1", yes)
			return err
		}
	}, is("unrescue", "active"))
	f, d := rescued(t, false)
	f.refuses["end rescue"] = "no ramdisk"
	if _, err := d.Rescue(t.Context(), server, steps.Rescue{}, yes); err == nil || !strings.Contains(err.Error(), "Failed to move instance "+server+" to rescue mode: no ramdisk") {
		t.Errorf("a rescue that fails: %v", err)
	}
	delete(f.refuses, "end rescue")
	if _, err := d.Power(t.Context(), server, steps.PowerUndoRescue, "op#1", yes); err != nil || f.node["provision_state"] != "active" {
		t.Errorf("its undo: %v, %v", err, f.node["provision_state"])
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	cut(t, func(t *testing.T) (*fake, func() error) {
		f, d, _ := newFake(t)
		if _, err := d.Build(t.Context(), spec, yes); err != nil {
			t.Fatal(err)
		}
		return f, func() error {
			if err := d.Plug(t.Context(), server, libvirt.Device{Port: &steps.Port{ID: "vif-3"}}, yes); err != nil {
				return err
			}
			if has, err := d.Plugged(t.Context(), server, "vif-3"); err != nil || !has {
				return errors.Join(err, fmt.Errorf("plugged %v", has))
			}
			return d.Unplug(t.Context(), server, "vif-1", yes)
		}
	}, func(f *fake) error {
		if !slices.Equal(f.vifs, []string{"vif-2", "vif-3"}) {
			return fmt.Errorf("bears %v", f.vifs)
		}
		return nil
	})
}

// What no node can be asked for is refused, and nothing is done.
func TestRefusals(t *testing.T) {
	t.Parallel()
	f, d, _ := newFake(t)
	if _, err := d.Build(t.Context(), spec, yes); err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(f.node)
	ctx := t.Context()
	power := func(a steps.PowerAction) func() error {
		return func() error { _, err := d.Power(ctx, server, a, "op#1", yes); return err }
	}
	for name, act := range map[string]func() error{
		"pause": power(steps.PowerPause), "unpause": power(steps.PowerUnpause), "suspend": power(steps.PowerSuspend), "resume": power(steps.PowerResume),
		"volumes":        func() error { return d.Plug(ctx, server, libvirt.Device{Volume: &steps.Volume{ID: "v"}}, yes) },
		"snapshots":      func() error { _, err := d.Snapshot(ctx, server, "i", yes); return err },
		"resize":         func() error { _, err := d.Resize(ctx, steps.ResizeIn{}, "op#1", yes); return err },
		"live migration": func() error { _, err := d.Depart(ctx, server); return err },
		"migration":      func() error { _, err := d.Disks(ctx, server); return err },
		"console log":    func() error { _, err := d.Console(ctx, server, 1); return err },
		"diagnostics":    func() error { _, err := d.Diagnostics(ctx, server); return err },
	} {
		if err := act(); !faults.Is(err, faults.Invalid) || err.Error() != "The bare metal service has no "+name+"." {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, _ := json.Marshal(f.node); !bytes.Equal(before, after) || !slices.Equal(f.did, []string{"active"}) {
		t.Errorf("%s, did %v", after, f.did)
	}
}
