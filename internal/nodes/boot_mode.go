package nodes

// How a node is to boot, and what else its instance is to be capable of, as its row says.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
)

// BootMode is how the instance starts: as it says, or its node. Errors: Invalid, they
// contradict each other.
func (i Info) BootMode() (string, error) {
	mode, err := i.AskedBootMode()
	if err != nil {
		return "", err
	}
	return cmp.Or(mode, provision.UEFI), nil
}

// AskedBootMode is that, and empty if neither says it. Errors: as BootMode.
func (i Info) AskedBootMode() (string, error) {
	secure, err := i.capability("secure_boot")
	if err != nil {
		return "", err
	}
	if strings.EqualFold(secure, "true") {
		return provision.UEFI, nil
	}
	mode, err := i.capability("boot_mode")
	if err != nil {
		return "", err
	}
	ofNode := strings.ToLower(i.ofNode("boot_mode"))
	if mode = strings.ToLower(cmp.Or(mode, i.text("deploy_boot_mode"), ofNode)); ofNode != "" && ofNode != mode {
		return "", i.invalid("Node %s boot mode %s violates node properties/capabilities %s", i.node.UUID, mode, ofNode)
	}
	return mode, nil
}

// capabilities are those that may have only some values.
var capabilities = []struct {
	name   string
	values []string
}{{"boot_mode", []string{provision.BIOS, provision.UEFI}}, {"secure_boot", []string{"true", "false"}}, {"disk_label", []string{"msdos", "gpt"}}}

// fitCapabilities refuses values that capabilities of the node and of its instance can't
// have.
func (i Info) fitCapabilities() error {
	wrong := func(name, field string, value any, values []string) error {
		return i.invalid("The parameter '%s' from %s has an invalid value: '%s'. Acceptable values are: %s.", name, field, pyjson.Str(value), strings.Join(values, ", "))
	}
	for _, c := range capabilities {
		if value := i.ofNode(c.name); value != "" && !slices.Contains(c.values, value) {
			return wrong(c.name, "properties/capabilities", value, c.values)
		}
		all, err := i.capabilities()
		if err != nil {
			return err
		}
		value, _ := all.Get(c.name)
		if text, is := value.(string); value != nil && text != "" && !slices.Contains(c.values, text) || value != nil && !is {
			return wrong(c.name, "instance_info['capabilities']", value, c.values)
		}
	}
	_, err := i.BootMode()
	return err
}

// capabilities are those that the instance is to have, an object or the text of one.
func (i Info) capabilities() (*pyjson.Object, error) {
	value := i.get("capabilities")
	if text, is := value.(string); is {
		if value, _, _ = pyjson.Parse([]byte(text)); value == nil {
			value = false // what isn't JSON is no object either
		}
	}
	all, ok := value.(*pyjson.Object)
	if !ok && value != nil {
		return nil, i.invalid("Error parsing capabilities from Node %s instance_info field. A dictionary or a \"jsonified\" dictionary is expected.", i.node.UUID)
	}
	return all, nil
}

// capability is one of them; empty for none.
func (i Info) capability(name string) (string, error) {
	all, err := i.capabilities()
	if err != nil || all == nil {
		return "", err
	}
	value, _ := all.Get(name)
	text, _ := value.(string)
	return text, nil
}

// ofNode is a capability of the node's properties, "a:1,b:2"; empty for none.
func (i Info) ofNode(name string) string {
	var properties map[string]any
	if json.Unmarshal(i.node.Properties, &properties) != nil {
		return ""
	}
	text, _ := properties["capabilities"].(string)
	for one := range strings.SplitSeq(text, ",") {
		if key, value, ok := strings.Cut(one, ":"); ok && strings.TrimSpace(key) == name && !strings.Contains(value, ":") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
