package inspection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
)

// every is all hooks, in an order that they can have.
var every = []string{"$default_hooks", "boot-mode", "cpu-capabilities", "cpus", "memory", "raid-device", "root-device", "pci-devices", "extra-hardware"}

// machine is the inventory of one, as an agent tells it.
const machine = `{"interfaces": [{"name": "lo", "mac_address": "00:00:00:00:00:01", "ipv4_address": "127.0.0.1"}, {"name": "a", "mac_address": "AA:00:00:00:00:01", "ipv4_address": "192.0.2.1"},
	{"name": "b", "mac_address": "aa:00:00:00:00:02", "client_id": "c", "ipv6_address": "fe80::1%b"}, {"name": "c", "mac_address": "aa:00:00:00:00:03"}],
	"cpu": {"architecture": "aarch64", "count": 4, "flags": ["aes", "vmx", "fpu"]}, "memory": {"physical_mb": 2048}, "boot": {"current_boot_mode": "uefi", "pxe_interface": "01-aa-00-00-00-00-02"},
	"disks": [{"name": "/dev/sda", "size": 10737418240, "serial": "s1", "model": "Big One", "rotational": true}, {"name": "/dev/sdb", "size": 21474836480, "serial": "s2", "model": "small"}]}`

func digest(t *testing.T, before, inventory, plugin, last string, o Options) (string, error) {
	t.Helper()
	var err error
	if o.Hooks, err = HookNames(o.Hooks); err != nil {
		t.Fatal(err)
	}
	f := Found{Inventory: object(t, inventory), Plugin: object(t, plugin)}
	var had map[string]any
	if last != "" {
		had = object(t, last)
	}
	made, err := Digest("n", object(t, before), f, had, o)
	var ports []string
	for _, p := range made.Ports {
		ports = append(ports, p.Name)
	}
	properties, wrong := json.Marshal(made.Properties)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return fmt.Sprint(string(properties), ports, made.Keep, made.Booting == Machine, f.Plugin["root_disk"], f.Plugin["local_gb"], f.Plugin["extra"], f.Plugin["macs"]), err
}

func TestDigest(t *testing.T) {
	t.Parallel()
	usual := Options{Hooks: []string{"$default_hooks"}, Add: AddPXE, Keep: KeepAll}
	with := func(change func(*Options)) Options {
		o := usual
		change(&o)
		return o
	}
	all := with(func(o *Options) {
		o.Hooks, o.Spacing, o.Aliases = every, true, map[[2]string]string{{"8086", "1520"}: "nic"}
	})
	for name, c := range map[string]struct {
		before, inventory, plugin, last string
		options                         Options
		want                            string
	}{
		"as usual": {`{"mine": 1}`, machine, `{}`, "", usual, `{"cpu_arch":"aarch64","mine":1}[b] [] true <nil> <nil> <nil> [aa:00:00:00:00:02]`},
		"every port": {`{}`, machine, `{}`, "", with(func(o *Options) { o.Add, o.Keep = AddAll, KeepPresent }),
			`{"cpu_arch":"aarch64"}[a b c] [00:00:00:00:00:01 aa:00:00:00:00:01 aa:00:00:00:00:02 aa:00:00:00:00:03] true <nil> <nil> <nil> [AA:00:00:00:00:01 aa:00:00:00:00:02 aa:00:00:00:00:03]`},
		"active ports": {`{}`, machine, `{}`, "", with(func(o *Options) { o.Add, o.Keep = AddActive, KeepAdded }),
			`{"cpu_arch":"aarch64"}[a b] [aa:00:00:00:00:01 aa:00:00:00:00:02] true <nil> <nil> <nil> [AA:00:00:00:00:01 aa:00:00:00:00:02]`},
		"no ports": {`{}`, machine, `{}`, "", with(func(o *Options) { o.Add, o.Booting = AddNone, Row }),
			`{"cpu_arch":"aarch64"}[] [] false <nil> <nil> <nil> [AA:00:00:00:00:01 aa:00:00:00:00:02 aa:00:00:00:00:03]`},
		"no hooks": {`{}`, machine, `{}`, "", with(func(o *Options) { o.Hooks = nil }), `{}[] [] false <nil> <nil> <nil> <nil>`},
		"every hook": {`{"capabilities": "boot_mode:bios,x:y", "root_device": {"model": "<in> big"}}`, machine,
			`{"pci_devices": [{"vendor_id": "8086", "product_id": "1520", "bus": "1"}, {"vendor_id": "8086", "product_id": "1520", "bus": "2"}, 5], "data": [["cpu", "logical", "number", "4"], ["x"]]}`, "", all,
			`{"capabilities":"boot_mode:uefi,x:y,cpu_aes:true,cpu_vt:true,nic:2","cpu_arch":"aarch64","cpus":4,"local_gb":9,"memory_mb":2048,"root_device":{"model":"\u003cin\u003e big"}}` +
				`[b] [] true map[model:Big One name:/dev/sda rotational:true serial:s1 size:1.073741824e+10] 9 map[cpu:map[logical:map[number:4]]] [aa:00:00:00:00:02]`},
		"a disk that is new": {`{}`, machine, `{}`, `{"disks": [{"serial": "s1"}]}`, all,
			`{"capabilities":"boot_mode:uefi,cpu_aes:true,cpu_vt:true","cpu_arch":"aarch64","cpus":4,"local_gb":19,"memory_mb":2048,"root_device":{"serial":"s2"}}` +
				`[b] [] true map[model:small name:/dev/sdb serial:s2 size:2.147483648e+10] 19 <nil> [aa:00:00:00:00:02]`},
	} {
		got, err := digest(t, c.before, c.inventory, c.plugin, c.last, c.options)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\n%s", name, err, got, c.want)
		}
	}
}

func TestDigestRefuses(t *testing.T) {
	t.Parallel()
	const failed = "Failed to inspect hardware. Reason: "
	for name, c := range map[string]struct{ before, inventory, plugin, want string }{
		"an error": {`{}`, machine, `{"error": "it burns"}`, failed + "The following failures happened while running preprocess hooks for node n:\n" +
			"Error in preprocess hook ramdisk-error: " + failed + "Ramdisk reported error: it burns"},
		"an error and no interfaces": {`{}`, `{}`, `{"error": {"a": 1}}`, failed + "The following failures happened while running preprocess hooks for node n:\n" +
			"Error in preprocess hook ramdisk-error: " + failed + "Ramdisk reported error: {'a': 1}\n" +
			"Unexpected exception InvalidNodeInventory during preprocess hook validate-interfaces: Inventory for node n is invalid: no interfaces present in inventory"},
		"no architecture": {`{}`, strings.Replace(machine, `"architecture": "aarch64", `, "", 1), `{}`, failed + "Unexpected exception InvalidNodeInventory during processing for node: n. Error: " +
			"Inventory for node n is invalid: Inventory has malformed or missing CPU architecture information: {'count': 4, 'flags': ['aes', 'vmx', 'fpu']} for node n."},
		"no memory": {`{}`, strings.Replace(machine, "physical_mb", "x", 1), `{}`, failed + "Unexpected exception InvalidNodeInventory during processing for node: n. Error: " +
			"Inventory for node n is invalid: Inventory has missing memory information: {'x': 2048} for node n."},
		"no such disk":         {`{"root_device": {"size": 5}}`, machine, `{}`, failed + "No disks satisfied root device hints for node n"},
		"a disk to be skipped": {`{"root_device": {"name": "/dev/sda"}, "skip_block_devices": [{"serial": "s1"}]}`, machine, `{}`, failed + "No disks satisfied root device hints for node n"},
		"hints that are none": {`{"root_device": {"sides": 5}}`, machine, `{}`, failed + "No disks could be found using root device hints {'sides': 5} for node n because they failed to validate. Error: " +
			`The hints "sides" are invalid. Valid hints are: "size, model, wwn, serial, vendor, wwn_with_extension, wwn_vendor_extension, name, rotational, hctl, by_path"`},
		"capabilities that are none": {`{"capabilities": "x"}`, machine, `{}`, failed + "Unexpected exception ValueError during processing for node: n. Error: Invalid capabilities string 'x'."},
		"hostile words": {`{}`, `{"interfaces": [{"name": 5}, 5, {"name": "a", "mac_address": {}}], "cpu": [], "boot": 5}`, `{}`, failed + "The following failures happened while running preprocess hooks for node n:\n" +
			"Unexpected exception InvalidNodeInventory during preprocess hook validate-interfaces: Inventory for node n is invalid: no valid network interfaces"},
	} {
		_, err := digest(t, c.before, c.inventory, c.plugin, "", Options{Hooks: every, Add: AddPXE})
		if want := failed + "failed to run inspection hooks: " + c.want; !faults.Is(err, faults.Invalid) || faults.As(err).Message != want {
			t.Errorf("%s: %v\n%s", name, err, want)
		}
	}
}

func TestRootDeviceHints(t *testing.T) {
	t.Parallel()
	disk := object(t, `{"name": "/dev/sda", "size": 21474836480, "model": "Big One", "rotational": true, "wwn": "", "hctl": "0:0:0:0"}`)
	for hints, want := range map[string]string{
		`{"size": 20}`: "true", `{"size": "20"}`: "true", `{"size": ">= 20"}`: "true", `{"size": "> 20"}`: "false", `{"size": "= 10"}`: "true", `{"size": "!= 10"}`: "true",
		`{"size": "<or> 10 <or> 20"}`: "true", `{"size": "<range-in> [ 10 20 ]"}`: "true", `{"size": "<range-in> [ 10 20 )"}`: "false", `{"size": "<range-in> ( 20 30 ]"}`: "false",
		`{"model": "big one"}`: "true", `{"model": "s== BIG ONE"}`: "true", `{"model": "s!= big one"}`: "false", `{"model": "<in> big"}`: "true", `{"model": "<or> a <or> big one"}`: "true",
		`{"model": "<or> a"}`: "false", `{"rotational": "true"}`: "true", `{"rotational": false}`: "false", `{"wwn": "x"}`: "false", `{"name": "/dev/sda", "size": 20}`: "true",
		`{"name": "/dev/sda", "size": 21}`: "false", `{}`: "false",
		`{"size": "x"}`:                    `Root device hint "size" is not an integer value. Current value: x`,
		`{"size": 0}`:                      `Root device hint "size" should be a positive integer. Current value: 0`,
		`{"size": "<range-in> [ 20 10 ]"}`: `Root device hint "size" is not a range. Current value: <range-in> [ 20 10 ]`,
		`{"rotational": 5}`:                `Root device hint "rotational" is not a Boolean value. Current value: 5`,
		`{"model": 5}`:                     `Root device hint "model" is not a string value. Hint expression: 5`,
		`{"model": " "}`:                   `Root device hint "model" expression is empty`,
	} {
		fits, err := fitting(disk, object(t, hints))
		got := fmt.Sprint(fits)
		if err != nil {
			got = faults.As(err).Message
		}
		if got != want {
			t.Errorf("%s: %s, not %s", hints, got, want)
		}
	}
}

func TestHookNames(t *testing.T) {
	t.Parallel()
	if got, err := HookNames([]string{"memory", "$default_hooks"}); err != nil || !slices.Equal(got, []string{"memory", "ramdisk-error", "validate-interfaces", "ports", "architecture"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range [][]string{{"knock"}, {"ports", "validate-interfaces"}} {
		if _, err := HookNames(wrong); !faults.Is(err, faults.Invalid) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	got, err := ReadAliases([]string{`{"vendor_id": "1", "product_id": "2", "name": "x"}`})
	if err != nil || got[[2]string{"1", "2"}] != "x" {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{``, `{}`, `{"vendor_id": "1", "product_id": "2"}`, `{"vendor_id": "1", "product_id": "2", "name": "x", "y": "z"}`, `[]`} {
		if _, err := ReadAliases([]string{wrong}); !faults.Is(err, faults.Invalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
