package metadata

// The EC2 tree: /<version>/meta-data/..., as old agents and many scripts read it.

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

const ec2Last = "2009-04-04"

var ec2Versions = []string{"1.0", "2007-01-19", "2007-03-01", "2007-08-29", "2007-10-10", "2007-12-15", "2008-02-01", "2008-09-01", ec2Last}

// tree is a folder of the EC2 tree: strings, lists of strings and folders.
type tree map[string]any

// named is a folder that its parent lists by another name.
type named struct {
	tree
	name string
}

// ec2Fields are the entries of meta-data, with the first version that has each.
var ec2Fields = []struct {
	name  string
	since string
	// value gives nil for an entry that this server lacks.
	value func(i *Instance) any
}{
	{"ami-id", "1.0", func(i *Instance) any { return ec2ID("ami", i.ImageID) }},
	{"ami-launch-index", "1.0", func(i *Instance) any { return strconv.Itoa(i.LaunchIndex) }},
	{"ami-manifest-path", "1.0", func(*Instance) any { return "FIXME" }}, // the original's own word
	{"instance-id", "1.0", func(i *Instance) any { return ec2ID("i", i.ID) }},
	{"hostname", "1.0", func(i *Instance) any { return i.Hostname }},
	{"local-ipv4", "1.0", func(i *Instance) any { return i.firstAddress() }},
	{"reservation-id", "1.0", func(i *Instance) any { return i.ReservationID }},
	{"security-groups", "1.0", func(i *Instance) any { return i.SecurityGroups }},
	{"public-keys", "1.0", publicKeys},
	{"local-hostname", "2007-01-19", func(i *Instance) any { return i.Hostname }},
	{"public-hostname", "2007-01-19", func(i *Instance) any { return i.Hostname }},
	{"public-ipv4", "2007-01-19", func(i *Instance) any { return i.firstFloatingIP() }},
	{"instance-type", "2007-08-29", func(i *Instance) any { return i.FlavorName }},
	{"block-device-mapping", "2007-12-15", blockDeviceMapping},
	{"placement", "2008-02-01", func(i *Instance) any { return tree{"availability-zone": i.AvailabilityZone} }},
	{"instance-action", "2008-09-01", func(*Instance) any { return "none" }},
}

// ec2Tree is one version's tree; false for a version that there is not.
func ec2Tree(i *Instance, version string) (tree, bool) {
	if version == latest {
		version = ec2Last
	}
	at := slices.Index(ec2Versions, version)
	if at < 0 {
		return nil, false
	}
	meta := tree{}
	for _, field := range ec2Fields {
		if at < slices.Index(ec2Versions, field.since) {
			continue
		}
		if value := field.value(i); value != nil {
			meta[field.name] = value
		}
	}
	root := tree{"meta-data": meta}
	if i.UserData != nil {
		root["user-data"] = string(i.UserData)
	}
	return root, true
}

// publicKeys lists a key as "0=name", while its folder is "0".
func publicKeys(i *Instance) any {
	if i.Key == nil {
		return nil
	}
	return tree{"0": named{tree{"openssh-key": i.Key.Data}, "0=" + i.Key.Name}}
}

func blockDeviceMapping(i *Instance) any {
	mapping := tree{}
	for name, device := range i.Mappings {
		mapping[name] = device
	}
	return mapping
}

// ec2ID makes the short id that EC2 has: a prefix and 8 hex digits. The
// original counts instances in a table of their own; here the digits are drawn
// from the id, so that every process finds the same ones.
func ec2ID(prefix, id string) string {
	digest := fnv.New32a()
	digest.Write([]byte(id)) // a hash never fails to be written to
	return fmt.Sprintf("%s-%08x", prefix, digest.Sum32())
}

func (i *Instance) firstAddress() string {
	for _, link := range i.Links {
		for _, address := range link.Addresses {
			return address.IP
		}
	}
	return ""
}

func (i *Instance) firstFloatingIP() string {
	for _, link := range i.Links {
		if len(link.FloatingIPs) > 0 {
			return link.FloatingIPs[0]
		}
	}
	return ""
}
