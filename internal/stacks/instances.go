package stacks

// Instance groups: servers that are alike, as a launch configuration beside them says.

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

const (
	// instanceClass is the class of the type of instance groups, launchClass that of
	// launch configurations.
	instanceClass = "InstanceGroup"
	launchClass   = "LaunchConfiguration"
	// launchProperty is where a group names its launch configuration.
	launchProperty = "LaunchConfigurationName"
)

// Launches says whether resources of a type are launch configurations.
func Launches(t *resourcetype.Type) bool { return t != nil && t.Class == launchClass }

// CheckLaunch refuses a launch configuration that no server can be made by. Errors:
// Invalid.
func CheckLaunch(properties *value.Map) error {
	given, _ := properties.Get("BlockDeviceMappings")
	list, _ := given.([]any)
	for _, item := range list {
		mapping, _ := item.(*value.Map)
		given, _ := mapping.Get("Ebs")
		ebs, _ := given.(*value.Map)
		if snapshot, _ := ebs.Get("SnapshotId"); !value.Truth(snapshot) {
			missing := "SnapshotId"
			if ebs.Len() == 0 {
				missing = "Ebs"
			}
			return invalid(missing + " is missing, this is required when specifying BlockDeviceMappings.")
		}
	}
	image, _ := properties.Get("ImageId")
	flavor, _ := properties.Get("InstanceType")
	if !value.Truth(image) || !value.Truth(flavor) {
		return invalid("If without InstanceId, ImageId and InstanceType are required.")
	}
	return nil
}

// ErrNoLaunch is the failure of a group whose launch configuration isn't there.
func ErrNoLaunch(reference string) error {
	return faults.New(faults.Invalid, hot.ValueError, "%s (%s) reference can not be found.", launchProperty, reference)
}

// serverProperties are the properties of servers by those of launch configurations.
var serverProperties = [][2]string{{"ImageId", "image"}, {"InstanceType", "flavor"}, {"KeyName", "key_name"}, {"UserData", "user_data"}, {"SecurityGroups", "security_groups"}}

// InstanceMember is what a group says of each of its members, by the properties of its
// launch configuration and its own, and by what it is called itself.
func InstanceMember(launch, properties *value.Map, name string) *value.Map {
	server := &value.Map{}
	for _, p := range serverProperties {
		if v, _ := launch.Get(p[0]); v != nil {
			server.Set(p[1], v)
		}
	}
	if devices := devices(launch); len(devices) > 0 {
		server.Set("block_device_mapping_v2", devices)
	}
	if hints := pairs(launch, "NovaSchedulerHints"); hints.Len() > 0 {
		server.Set("scheduler_hints", hints)
	}
	server.Set("metadata", tags(properties, name))
	return value.NewMap("type", "OS::Nova::Server", "properties", server)
}

// devices are the volumes of a launch configuration as servers have them.
func devices(launch *value.Map) (all []any) {
	given, _ := launch.Get("BlockDeviceMappings")
	list, _ := given.([]any)
	for _, item := range list {
		mapping, _ := item.(*value.Map)
		given, _ := mapping.Get("Ebs")
		ebs, _ := given.(*value.Map)
		one := value.NewMap("boot_index", value.Int(-1)) // the image is what is booted from
		for _, p := range []struct {
			of       *value.Map
			from, to string
		}{{mapping, "DeviceName", "device_name"}, {ebs, "SnapshotId", "snapshot_id"}, {ebs, "VolumeSize", "volume_size"}, {ebs, "DeleteOnTermination", "delete_on_termination"}} {
			if v, _ := p.of.Get(p.from); v != nil {
				one.Set(p.to, v)
			}
		}
		all = append(all, one)
	}
	return all
}

// pairs are a list of keys with their values as a map; the values of a key that comes
// again are a list.
func pairs(of *value.Map, property string) *value.Map {
	all := &value.Map{}
	given, _ := of.Get(property)
	list, _ := given.([]any)
	for _, item := range list {
		m, _ := item.(*value.Map)
		key, _ := m.Get("Key")
		v, _ := m.Get("Value")
		switch before, again := all.Get(key); before := before.(type) {
		case []any:
			v = append(before[:len(before):len(before)], v)
		default:
			if again {
				v = []any{before, v}
			}
		}
		all.Set(key, v)
	}
	return all
}

// tags are the metadata of a group's members, among which is the group's name for
// whoever meters them.
func tags(properties *value.Map, name string) *value.Map {
	const metering = "metering."
	all, metered := &value.Map{}, false
	given, _ := properties.Get("Tags")
	list, _ := given.([]any)
	for _, item := range list {
		m, _ := item.(*value.Map)
		key, _ := m.Get("Key")
		v, _ := m.Get("Value")
		metered = metered || strings.HasPrefix(value.Str(key), metering)
		all.Set(key, v)
	}
	if !metered {
		all.Set(metering+"groupname", name)
	}
	return all
}

// instanceOf is one member of a group, as far as it can be known before anything is
// there. Errors: Invalid, it names no launch configuration of the stack, or doesn't
// refer to it.
func (d *Definition) instanceOf(r *hot.Resource, properties *value.Map) (*Nested, error) {
	needs, err := r.Requires()
	if err != nil {
		return nil, err
	}
	for _, name := range needs {
		def := d.Resource(name)
		if def == nil {
			continue
		}
		if t, err := d.TypeOf(def); err != nil || !Launches(t) {
			continue
		}
		launch, err := def.Properties(hot.Nothing)
		if err != nil {
			launch = &value.Map{} // what is wrong with it is told of it
		}
		member := InstanceMember(launch, properties, r.Name)
		given, _ := member.Get("properties")
		if server, _ := given.(*value.Map); !server.Has("flavor") {
			server.Set("flavor", "")
		}
		return Made(MembersTemplate(value.NewMap("member", member)))
	}
	given, _ := properties.Get(launchProperty)
	if given == nil {
		return nil, nil
	}
	reference := value.Str(given)
	if def := d.Resource(reference); def != nil {
		if t, err := d.TypeOf(def); err == nil && Launches(t) {
			return nil, faults.New(faults.Invalid, hot.ValueError, "%s (%s) requires a reference to the configuration not just the name of the resource.", launchProperty, reference)
		}
	}
	return nil, ErrNoLaunch(reference)
}

// isoDuration is how update policies write durations.
var isoDuration = regexp.MustCompile(`^PT(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?$`)

// ParsePause reads for how long a group's update pauses. Errors: Invalid.
func ParsePause(text string) (time.Duration, error) {
	parts := isoDuration.FindStringSubmatch(text)
	if parts == nil {
		return 0, faults.New(faults.Invalid, hot.ValueError, "Only ISO 8601 duration format of the form PT#H#M#S is supported.")
	}
	total := 0.0
	for i, unit := range []float64{3600, 60, 1} {
		n, _ := strconv.ParseFloat("0"+parts[i+1], 64) // digits, or none
		total += n * unit
	}
	if total > time.Hour.Seconds() {
		return 0, faults.New(faults.Invalid, hot.ValueError, "Maximum PauseTime is 1 hour.")
	}
	return time.Duration(total * float64(time.Second)), nil
}
