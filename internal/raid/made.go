package raid

// What a node's row says of logical disks that there are.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stamp says of logical disks that they are as of now.
func Stamp(made map[string]any) {
	made["last_updated"] = time.Now().UTC().Format("2006-01-02 15:04:05.000000")
}

// Properties are a node's once a ramdisk has made its logical disks: the one that its
// instance starts from is the node's disk. If there are none, nothing is said of where it
// starts from. Errors: Invalid, it would start from several.
func Properties(properties json.RawMessage, made map[string]any) (json.RawMessage, error) {
	all := map[string]any{}
	if err := json.Unmarshal(properties, &all); err != nil {
		return nil, fmt.Errorf("properties of a node: %w", err)
	}
	if len(made) == 0 {
		delete(all, "root_device")
		return json.Marshal(all)
	}
	disks, _ := made["logical_disks"].([]any)
	var roots []map[string]any
	for _, d := range disks {
		if disk, ok := d.(map[string]any); ok && disk["is_root_volume"] == true {
			roots = append(roots, disk)
		}
	}
	switch len(roots) {
	case 0:
		return properties, nil
	case 1:
	default:
		return nil, invalid("Raid config cannot have more than one root volume. %d root volumes were specified", len(roots))
	}
	root := roots[0]
	if size, ok := root["size_gb"].(float64); ok {
		all["local_gb"] = int64(size)
	}
	if hint := root["root_device_hint"]; hint != nil {
		all["root_device"] = hint
	}
	if level, ok := root["raid_level"].(string); ok {
		had, _ := all["capabilities"].(string)
		all["capabilities"] = withCapability(had, "raid_level", level)
	}
	return json.Marshal(all)
}

// withCapability is a list of capabilities, "a:1,b:2", with one in it.
func withCapability(list, name, value string) string {
	all := slices.DeleteFunc(strings.Split(list, ","), func(one string) bool { return one == "" || strings.HasPrefix(one, name+":") })
	return strings.Join(append(all, name+":"+value), ",")
}
