package stacks

// What of a server's properties goes together.

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// serverClass is the class of the type of servers.
const serverClass = "Server"

// conflicting is the original's refusal of properties that exclude each other.
func conflicting(names ...string) error {
	return &hot.Error{Class: "ResourcePropertyConflict", Message: "Cannot define the following properties at the same time: " + strings.Join(names, ", ") + "."}
}

// server holds a server's properties against each other, in the original's order.
func server(r *hot.Resource, properties *value.Map, unsure bool) error {
	if err := told(r, properties); err != nil {
		return err
	}
	if err := booted(r, properties, unsure); err != nil {
		return err
	}
	all := mapsOf(properties, "networks")
	for _, one := range all {
		if err := attached(r, one, unsure); err != nil {
			return err
		}
	}
	if len(all) != 1 && slices.ContainsFunc(all, func(one *value.Map) bool { return given(one, "allocate_network") != nil }) {
		return invalid(`Property "allocate_network" can not be specified if multiple network interfaces set for server.`)
	}
	groups, _ := given(properties, "security_groups").([]any)
	if len(groups) > 0 && slices.ContainsFunc(all, func(one *value.Map) bool { return given(one, "port") != nil }) {
		return conflicting("security_groups", "networks/port")
	}
	if files, _ := given(properties, "personality").(*value.Map); files.Len() > 0 {
		return invalid("Cannot use the personality parameter as nova no longer supports it. Use user_data instead.")
	}
	return nil
}

// given is a property of a map; what isn't there, and "", is null.
func given(m *value.Map, name string) any {
	v, _ := m.Get(name)
	if v == "" {
		return nil
	}
	return v
}

// mapsOf are the maps of a list.
func mapsOf(m *value.Map, name string) (all []*value.Map) {
	list, _ := given(m, name).([]any)
	for _, one := range list {
		if item, ok := one.(*value.Map); ok {
			all = append(all, item)
		}
	}
	return all
}

// told refuses what would have to be carried to the server's agent.
func told(r *hot.Resource, properties *value.Map) error {
	if given(properties, "user_data_format") != "SOFTWARE_CONFIG" {
		return nil
	}
	if transport := given(properties, "software_config_transport"); transport != nil && transport != "POLL_SERVER_CFN" {
		return notSupported("software_config_transport " + value.Str(transport))
	}
	if swift, _ := given(properties, "deployment_swift_data").(*value.Map); given(swift, "container") != nil || given(swift, "object") != nil {
		return notSupported("deployment_swift_data")
	}
	if metadata, err := r.Metadata(hot.Nothing); err == nil && metadata.Has("deployments") {
		return invalid("deployments key not allowed in resource metadata with user_data_format of SOFTWARE_CONFIG")
	}
	return nil
}

// booted says whether there is one thing that the server boots from, and each of its
// disks is of one thing.
func booted(r *hot.Resource, properties *value.Map, unsure bool) error {
	old, devices := mapsOf(properties, "block_device_mapping"), mapsOf(properties, "block_device_mapping_v2")
	if len(old) > 0 && len(devices) > 0 {
		return conflicting("block_device_mapping", "block_device_mapping_v2")
	}
	image := given(properties, "image")
	bootable := image != nil
	for _, one := range old {
		bootable = bootable || given(one, "device_name") == "vda"
		volume, snapshot := given(one, "volume_id"), given(one, "snapshot_id")
		switch {
		case volume != nil && snapshot != nil:
			return conflicting("volume_id", "snapshot_id")
		case volume == nil && snapshot == nil && !unsure:
			return invalid("Either volume_id or snapshot_id must be specified for device mapping " + value.Str(given(one, "device_name")))
		}
	}
	sources := 0
	if image != nil {
		sources++
	}
	for _, one := range devices {
		disks, said := 0, 0
		for _, name := range []string{"volume_id", "snapshot_id", "image", "swap_size"} {
			if given(one, name) != nil {
				if said++; name != "swap_size" {
					disks++
				}
			}
		}
		if given(one, "ephemeral_size") != nil || given(one, "ephemeral_format") != nil {
			said++
		}
		switch {
		case said > 1:
			return conflicting("volume_id", "snapshot_id", "image", "swap_size", "ephemeral_size", "ephemeral_format")
		case said == 0 && !unsure:
			return invalid("Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be specified.")
		}
		if index, is := float(given(one, "boot_index")); disks > 0 && (!is || index == 0) {
			bootable = true
			sources += disks
		}
	}
	switch {
	case !bootable && !unsure:
		return invalid("Neither image nor bootable volume is specified for instance " + r.Name)
	case len(devices) > 0 && (sources > 1 || sources == 0 && !unsure):
		return invalid(fmt.Sprintf("Multiple bootable sources for instance %s.", r.Name))
	}
	return nil
}

// attached says whether a network of the server's is one.
func attached(r *hot.Resource, one *value.Map, unsure bool) error {
	network, port, subnet, how := given(one, "network"), given(one, "port"), given(one, "subnet"), given(one, "allocate_network")
	extra := given(one, "port_extra_properties")
	said := 0
	for i := range one.Len() {
		if _, v := one.At(i); v != nil {
			said++
		}
	}
	switch {
	case network == nil && port == nil && subnet == nil && how == nil && !unsure:
		return invalid(`One of the properties "network", "port", "allocate_network" or "subnet" should be set for the specified network of server "` + r.Name + `".`)
	case how != nil && said != 1:
		return invalid(`Can not specify "allocate_network" with other keys of networks at the same time.`)
	case given(one, "fixed_ip") != nil && port != nil:
		return conflicting("networks/fixed_ip", "networks/port")
	case given(one, "floating_ip") != nil && network != nil && port == nil && subnet == nil && extra == nil && !unsure:
		return invalid(`Property "floating_ip" is not supported if only "network" is specified, because the corresponding port can not be retrieved.`)
	}
	return nil
}
