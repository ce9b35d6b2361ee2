package nodes

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// infoFor is the instance_info of a node.
func infoFor(t *testing.T, n *baremetal.Node, instance string) Info {
	t.Helper()
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	n.UUID, n.InstanceInfo = "n", json.RawMessage(instance)
	for _, object := range []*json.RawMessage{&n.Properties, &n.DriverInternalInfo, &n.TargetRAIDConfig, &n.DriverInfo} {
		if *object == nil {
			*object = json.RawMessage(`{}`)
		}
	}
	info, err := InstanceInfo(box, n)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A ramdisk is told of an image of a partition what it makes the partitions of.
func TestImageInfo(t *testing.T) {
	t.Parallel()
	const common = `"container_format":null,"disk_format":null,"id":"i","node_uuid":"n","os_hash_algo":"sha256","os_hash_value":"ab","stream_raw_images":true,"urls":["http://h/i"]}`
	const image = `"image_source": "http://h/i", "image_os_hash_algo": "sha256", "image_os_hash_value": "ab"`
	glance := &openstack.ImageFile{URL: "http://c/x.img", DiskFormat: "qcow2", ContainerFormat: "bare", Checksum: "m", HashAlgo: "sha512", HashValue: "cd", Properties: map[string]any{"kernel_id": "k"}}
	for name, c := range map[string]struct {
		instance   string
		properties string
		file       *openstack.ImageFile
		told       string
	}{
		"of a disk": {instance: `{` + image + `}`, told: `{` + common},
		"of a partition": {instance: `{` + image + `, "kernel": "k", "ramdisk": "r", "root_gb": "10"}`,
			told: `{"boot_option":"local","configdrive":null,"container_format":null,"deploy_boot_mode":"uefi","disk_format":null,"disk_label":"gpt","ephemeral_format":null,"ephemeral_mb":0,` +
				`"id":"i","image_type":"partition","kernel":"k","node_uuid":"n","os_hash_algo":"sha256","os_hash_value":"ab","preserve_ephemeral":false,"ramdisk":"r","root_gb":"10","root_mb":10240,` +
				`"stream_raw_images":true,"swap_mb":0,"urls":["http://h/i"]}`},
		"of a partition among others": {properties: `{"capabilities": "boot_mode:bios,a:b"}`,
			instance: `{` + image + `, "image_type": "partition", "root_gb": 4, "swap_mb": 512, "ephemeral_gb": 2, "preserve_ephemeral": "yes", "capabilities": "{\"disk_label\": \"msdos\"}"}`,
			told: `{"boot_option":"local","configdrive":null,"container_format":null,"deploy_boot_mode":"bios","disk_format":null,"disk_label":"msdos","ephemeral_format":"ext4","ephemeral_mb":2048,` +
				`"id":"i","image_type":"partition","kernel":null,"node_uuid":"n","os_hash_algo":"sha256","os_hash_value":"ab","preserve_ephemeral":true,"ramdisk":null,"root_gb":4,"root_mb":4096,` +
				`"stream_raw_images":true,"swap_mb":512,"urls":["http://h/i"]}`},
		"of Glance": {instance: `{"image_source": "glance://11111111-2222-4333-8444-555555555501", "image_checksum": "other", "root_gb": 1, "ephemeral_gb": 1, "ephemeral_format": "xfs"}`, file: glance,
			properties: `{"capabilities": "boot_mode:bios"}`,
			told: `{"boot_option":"local","checksum":"m","configdrive":null,"container_format":"bare","deploy_boot_mode":"bios","disk_format":"qcow2","ephemeral_format":"xfs","ephemeral_mb":1024,` +
				`"id":"11111111-2222-4333-8444-555555555501","image_type":"partition","kernel":null,"node_uuid":"n","os_hash_algo":"sha512","os_hash_value":"cd","preserve_ephemeral":false,"ramdisk":null,` +
				`"root_gb":1,"root_mb":1024,"stream_raw_images":true,"swap_mb":0,"urls":["http://c/x.img"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &baremetal.Node{}
			if c.properties != "" {
				n.Properties = json.RawMessage(c.properties)
			}
			info := infoFor(t, n, c.instance)
			told, whole, err := info.ImageInfo(infoFor(t, &baremetal.Node{}, `{}`), c.file)
			text, broken := json.Marshal(told)
			if err != nil || broken != nil || string(text) != c.told || whole == strings.Contains(c.told, "partition") {
				t.Errorf("%s, %t, %v", text, whole, err)
			}
		})
	}
}

// What an image's instance can't be is refused in the original's words.
func TestInstancesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ instance, properties, internal, fault string }{
		{`"root_gb": 1, "image_type": "partition"`, ``, ``, ``},
		{`"image_type": "partition"`, ``, ``, "Some parameters were missing in node's instance_info. Missing are: ['root_gb']"},
		{`"kernel": "k"`, ``, ``, "Some parameters were missing in node's instance_info. Missing are: ['root_gb']"},
		{`"kernel": "k", "root_gb": "ten"`, ``, ``, "Invalid parameter root_gb: ten is not an integer value."},
		{`"kernel": "k", "root_gb": 1, "swap_mb": -1`, ``, ``, "Invalid parameter swap_mb: -1 is not an integer value."},
		{`"kernel": "k", "root_gb": 1, "ephemeral_gb": 99999999999999999999`, ``, ``, "Invalid parameter ephemeral_gb: 99999999999999999999 is not an integer value."},
		{`"kernel": "k", "root_gb": 1, "ephemeral_gb": {"a": 1}`, ``, ``, "Invalid parameter ephemeral_gb: {'a': 1} is not an integer value."},
		{`"kernel": "k", "root_gb": 1, "preserve_ephemeral": "perhaps"`, ``, ``,
			"Invalid parameter preserve_ephemeral: Unrecognized value 'perhaps', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"},
		{`"kernel": "k", "root_gb": 2, "preserve_ephemeral": true`, ``, `{"instance": {"root_gb": 1, "swap_mb": 5, "ephemeral_gb": 0}}`,
			"The following parameters have different values from previous deployment: Deployed value of root_gb was 1 but requested value is 2. Deployed value of swap_mb was 5 but requested value is 0."},
		{`"kernel": "k", "root_gb": 1, "preserve_ephemeral": true`, ``, `{"instance": {"root_gb": 1, "swap_mb": 0, "ephemeral_gb": 0}}`, ``},
		{`"capabilities": "moon"`, ``, ``, `Error parsing capabilities from Node n instance_info field. A dictionary or a "jsonified" dictionary is expected.`},
		{`"capabilities": ["moon"]`, ``, ``, `Error parsing capabilities from Node n instance_info field. A dictionary or a "jsonified" dictionary is expected.`},
		{`"capabilities": {"boot_mode": "moon"}`, ``, ``, "The parameter 'boot_mode' from instance_info['capabilities'] has an invalid value: 'moon'. Acceptable values are: bios, uefi."},
		{`"capabilities": {"secure_boot": true}`, ``, ``, "The parameter 'secure_boot' from instance_info['capabilities'] has an invalid value: 'True'. Acceptable values are: true, false."},
		{``, `{"capabilities": "disk_label:moon"}`, ``, "The parameter 'disk_label' from properties/capabilities has an invalid value: 'moon'. Acceptable values are: msdos, gpt."},
		{`"capabilities": {"boot_mode": "bios"}`, `{"capabilities": "boot_mode:uefi"}`, ``, "Node n boot mode bios violates node properties/capabilities uefi"},
	} {
		n := &baremetal.Node{}
		for text, to := range map[string]*json.RawMessage{c.properties: &n.Properties, c.internal: &n.DriverInternalInfo} {
			if text != "" {
				*to = json.RawMessage(text)
			}
		}
		rest := ""
		if c.instance != "" {
			rest = ", " + c.instance
		}
		err := infoFor(t, n, `{"image_source": "http://h/i", "image_checksum": "abc"`+rest+`}`).MayDeploy()
		if err == nil && c.fault != "" || err != nil && err.Error() != c.fault {
			t.Errorf("%s, %s: %v", c.instance, c.properties, err)
		}
	}
}

// A boot loader is installed where the image doesn't bring one.
func TestBootLoader(t *testing.T) {
	t.Parallel()
	found := Partitions{Root: "r", EFI: "e", PReP: "p"}
	for _, c := range []struct {
		whole            bool
		of               Partitions
		instance         string
		properties, raid string
		told             string
	}{
		{true, found, `{}`, ``, ``, `{"efi_system_part_uuid":null,"prep_boot_part_uuid":null,"root_uuid":null,"target_boot_mode":"uefi"}`},
		{true, found, `{"capabilities": {"boot_mode": "bios"}}`, ``, ``, `null`},
		{true, found, `{"capabilities": {"boot_mode": "bios"}, "image_rootfs_uuid": "s"}`, ``, `{"logical_disks": [{"controller": "software"}]}`,
			`{"efi_system_part_uuid":null,"prep_boot_part_uuid":null,"root_uuid":"s","target_boot_mode":"bios"}`},
		{false, found, `{}`, ``, ``, `{"efi_system_part_uuid":"e","prep_boot_part_uuid":null,"root_uuid":"r","target_boot_mode":"uefi"}`},
		{false, found, `{}`, `{"cpu_arch": "ppc64le", "capabilities": "boot_mode:bios"}`, ``, `{"efi_system_part_uuid":null,"prep_boot_part_uuid":"p","root_uuid":"r","target_boot_mode":"bios"}`},
		{false, Partitions{}, `{}`, ``, ``, `No root UUID returned from the ramdisk for node n`},
	} {
		n := &baremetal.Node{}
		if c.properties != "" {
			n.Properties = json.RawMessage(c.properties)
		}
		if c.raid != "" {
			n.TargetRAIDConfig = json.RawMessage(c.raid)
		}
		told, err := infoFor(t, n, c.instance).BootLoader(c.whole, c.of)
		text, broken := json.Marshal(told)
		if err != nil {
			text = []byte(err.Error())
		}
		if broken != nil || string(text) != c.told {
			t.Errorf("%+v: %s", c, text)
		}
	}
}
