package baremetal

// Secrets of nodes: passwords and the like in driver_info and instance_info are
// masked in the row and kept sealed beside it.

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store/baremetal"
)

// mask is what clients see of a secret; sent back, it means the one that is kept.
const mask = "******"

// secretFields are the fields that hold secrets, the rule that shows them, empty
// for none, and the keys that are secret there beside those everywhere.
var secretFields = []struct {
	name, rule string
	of         func(*baremetal.Node) *json.RawMessage
	keys       []string
}{
	{"driver_info", "show_password", func(n *baremetal.Node) *json.RawMessage { return &n.DriverInfo }, []string{"snmp_auth_key", "snmp_priv_key"}},
	{"instance_info", "show_instance_secrets", func(n *baremetal.Node) *json.RawMessage { return &n.InstanceInfo }, []string{"configdrive", "image_url"}},
	{"driver_internal_info", "", func(n *baremetal.Node) *json.RawMessage { return &n.DriverInternalInfo }, nil},
}

// secretWords are in the keys of secrets, whatever holds them (oslo.utils:
// mask_dict_password).
var secretWords = []string{"password", "adminpass", "admin_pass", "auth_token", "new_pass", "secret", "sys_pswd", "token", "encrypted_key",
	"private_key", "fernetkey", "sslkey", "passphrase", "credential"}

// conceal masks and seals what is secret in a node. What is masked already is
// the secret that before, if there is one, has in that place.
func (a *API) conceal(n, before *baremetal.Node) error {
	old, all := nodes.Kept{}, nodes.Kept{}
	if before != nil {
		var err error
		if old, err = nodes.Opened(a.Secrets, before); err != nil {
			return err
		}
	}
	for _, f := range secretFields {
		raw := f.of(n)
		value, _, err := pyjson.Parse(*raw)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		found := map[string]any{}
		hide(value, "", f.keys, old[f.name], found)
		if len(found) == 0 {
			continue
		}
		all[f.name] = found
		if *raw, err = json.Marshal(value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	n.Secrets = nil
	if len(all) == 0 {
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("secrets of a node: %w", err)
	}
	n.Secrets = a.Secrets.Seal(text, nodes.Place(n))
	return nil
}

// concealed is a secret in a document that is being changed: it moves with what it is in,
// and refusals print its mask.
type concealed struct{ plain any }

func (concealed) String() string { return pyjson.Repr(mask) }

// MarshalJSON implements json.Marshaler.
func (m concealed) MarshalJSON() ([]byte, error) { return json.Marshal(m.plain) }

// keeps says whether a value that is put in the place of another is the mask of it.
func keeps(there, value any) bool {
	_, is := there.(concealed)
	return is && value == mask
}

// changeable is a node as a document that changes can be carried out on, its secrets in
// place; conceal has to hide them again.
func (a *API) changeable(n *baremetal.Node) (*pyjson.Object, error) {
	kept, err := nodes.Opened(a.Secrets, n)
	if err != nil {
		return nil, err
	}
	document, err := documentOf(n)
	if err != nil {
		return nil, err
	}
	for _, f := range secretFields {
		value, _ := document.Get(f.name)
		kept.Show(value, f.name, func(plain any) any { return concealed{plain} })
	}
	return document, nil
}

// hide puts the mask in the place of every secret below a value, and the secrets
// into found.
func hide(value any, path string, keys []string, old, found map[string]any) {
	list, _ := value.([]any)
	for i, inner := range list {
		hide(inner, fmt.Sprintf("%s/%d", path, i), keys, old, found)
	}
	object, ok := value.(*pyjson.Object)
	if !ok {
		return
	}
	for _, key := range object.Keys() {
		inner, _ := object.Get(key)
		at := path + "/" + key
		if !secret(key, keys) || inner == nil || inner == "" {
			hide(inner, at, keys, old, found)
			continue
		}
		if inner == mask {
			was, had := old[at]
			if !had {
				continue // a mask that hides nothing
			}
			inner = was
		}
		found[at] = inner
		object.Set(key, mask)
	}
}

func secret(key string, keys []string) bool {
	key = strings.ToLower(key)
	for _, word := range secretWords {
		if strings.Contains(key, word) {
			return true
		}
	}
	for _, own := range keys {
		if key == own {
			return true
		}
	}
	return false
}

// revealed is a field of a node with its secrets in place.
func (a *API) revealed(n *baremetal.Node, field string) (any, error) {
	for _, f := range secretFields {
		if f.name == field {
			return nodes.Revealed(a.Secrets, n, field, *f.of(n))
		}
	}
	return nil, fmt.Errorf("%s holds no secrets", field)
}
