package stacks

// What of a server's properties goes together, in the original's words.

import (
	"testing"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

func TestServerRules(t *testing.T) {
	t.Parallel()
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const id = "00000000-1111-4111-8111-111111111111"
	const props = "Cannot define the following properties at the same time: "
	for text, want := range map[string]string{
		`image: i`:              "",
		`image: {get_param: x}`: "",
		`image: i, networks: [{network: n, fixed_ip: 10.0.0.1}, {port: p, tag: a}, {subnet: s, floating_ip: f}]`: "",
		`image: i, networks: [{allocate_network: auto}]`:                                                         "",
		`block_device_mapping: [{device_name: vda, volume_id: ` + id + `}]`:                                      "",
		`block_device_mapping_v2: [{volume_id: ` + id + `}, {swap_size: 1}]`:                                     "",
		``: "Neither image nor bootable volume is specified for instance r",
		`block_device_mapping: [{device_name: vdb, volume_id: ` + id + `}]`:                                        "Neither image nor bootable volume is specified for instance r",
		`block_device_mapping: [{device_name: vda}]`:                                                               "Either volume_id or snapshot_id must be specified for device mapping vda",
		`block_device_mapping: [{device_name: vda, volume_id: ` + id + `, snapshot_id: ` + id + `}]`:               props + "volume_id, snapshot_id.",
		`block_device_mapping: [{device_name: vda, volume_id: ` + id + `}], block_device_mapping_v2: [{image: i}]`: props + "block_device_mapping, block_device_mapping_v2.",
		`block_device_mapping_v2: [{device_name: vda}]`:                                                            "Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be specified.",
		`block_device_mapping_v2: [{image: i, swap_size: 1}]`:                                                      props + "volume_id, snapshot_id, image, swap_size, ephemeral_size, ephemeral_format.",
		`image: i, block_device_mapping_v2: [{volume_id: ` + id + `}]`:                                             "Multiple bootable sources for instance r.",
		`image: i, block_device_mapping_v2: [{volume_id: ` + id + `, boot_index: 1}]`:                              "",
		`block_device_mapping_v2: [{swap_size: 1}]`:                                                                "Neither image nor bootable volume is specified for instance r",
		`image: i, networks: [{}]`:                                                                                 `One of the properties "network", "port", "allocate_network" or "subnet" should be set for the specified network of server "r".`,
		`image: i, networks: [{allocate_network: auto, network: n}]`:                                               `Can not specify "allocate_network" with other keys of networks at the same time.`,
		`image: i, networks: [{allocate_network: auto}, {network: n}]`:                                             `Property "allocate_network" can not be specified if multiple network interfaces set for server.`,
		`image: i, networks: [{port: p, fixed_ip: 10.0.0.1}]`:                                                      props + "networks/fixed_ip, networks/port.",
		`image: i, networks: [{network: n, floating_ip: f}]`:                                                       `Property "floating_ip" is not supported if only "network" is specified, because the corresponding port can not be retrieved.`,
		`image: i, security_groups: [g], networks: [{port: p}]`:                                                    props + "security_groups, networks/port.",
		`image: i, personality: {/etc/a: b}`:                                                                       "Cannot use the personality parameter as nova no longer supports it. Use user_data instead.",
		`image: i, user_data_format: SOFTWARE_CONFIG`:                                                              "",
		`image: i, user_data_format: SOFTWARE_CONFIG, software_config_transport: ZAQAR_MESSAGE`:                    "software_config_transport ZAQAR_MESSAGE is not supported.",
		`image: i, user_data_format: SOFTWARE_CONFIG, deployment_swift_data: {container: c}`:                       "deployment_swift_data is not supported.",
		`image: i, user_data_format: SOFTWARE_CONFIG}, metadata: {deployments: []`:                                 "deployments key not allowed in resource metadata with user_data_format of SOFTWARE_CONFIG",
		`image: i, reservation_id: r`:                                                                              "",
	} {
		request, err := ParseRequest(value.NewMap("parameters", value.NewMap("x", "i"), "template",
			"heat_template_version: 2021-04-16\nparameters: {x: {type: string}}\nresources: {r: {type: OS::Nova::Server, properties: {flavor: f, "+text+"}}}"), nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		d, err := request.Define(hot.Identity{}, types)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := ""
		if err := d.Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
