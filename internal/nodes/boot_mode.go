package nodes

// How a node is to boot, as its row says.

import (
	"strings"

	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store/baremetal"
)

// BootMode is "uefi" or "bios": what is asked for of the node's instance, or else what its
// properties say; UEFI if nobody says anything.
func BootMode(n *baremetal.Node) string {
	for _, raw := range [][]byte{n.InstanceInfo, n.Properties} {
		value, _, err := pyjson.Parse(raw)
		object, ok := value.(*pyjson.Object)
		if err != nil || !ok {
			continue
		}
		all, _ := object.Get("capabilities")
		if mode := capability(all, "boot_mode"); mode == provision.UEFI || mode == provision.BIOS {
			return mode
		}
	}
	return provision.UEFI
}

// capability is one of those that are kept as an object, or as a text of pairs.
func capability(all any, name string) string {
	switch all := all.(type) {
	case *pyjson.Object:
		value, _ := all.Get(name)
		text, _ := value.(string)
		return text
	case string:
		for pair := range strings.SplitSeq(all, ",") {
			if key, value, _ := strings.Cut(pair, ":"); strings.TrimSpace(key) == name {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}
