package nodes

// How secrets of nodes are hidden: masked in the row, and sealed beside it.

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// Mask is what clients see of a secret; sent back, it means the one that is kept.
const Mask = "******"

// SecretFields are the fields that hold secrets, the rule that shows them, empty
// for none, and the keys that are secret there beside those everywhere.
var SecretFields = []struct {
	Name, Rule string
	Of         func(*baremetal.Node) *json.RawMessage
	Keys       []string
}{
	{"driver_info", "show_password", func(n *baremetal.Node) *json.RawMessage { return &n.DriverInfo }, []string{"snmp_auth_key", "snmp_priv_key"}},
	{"instance_info", "show_instance_secrets", func(n *baremetal.Node) *json.RawMessage { return &n.InstanceInfo }, []string{"configdrive", "image_url"}},
	{"driver_internal_info", "", func(n *baremetal.Node) *json.RawMessage { return &n.DriverInternalInfo }, nil},
}

// secretWords are in the keys of secrets, whatever holds them (oslo.utils:
// mask_dict_password).
var secretWords = []string{"password", "adminpass", "admin_pass", "auth_token", "new_pass", "secret", "sys_pswd", "token", "encrypted_key",
	"private_key", "fernetkey", "sslkey", "passphrase", "credential"}

// Conceal masks and seals what is secret in a node. What is masked already is
// the secret that before, if there is one, has in that place.
func Conceal(box *secrets.Box, n, before *baremetal.Node) error {
	old, all := Kept{}, Kept{}
	if before != nil {
		var err error
		if old, err = Opened(box, before); err != nil {
			return err
		}
	}
	for _, f := range SecretFields {
		raw := f.Of(n)
		value, _, err := pyjson.Parse(*raw)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		found := map[string]any{}
		Hide(value, "", f.Keys, old[f.Name], found)
		if len(found) == 0 {
			continue
		}
		all[f.Name] = found
		if *raw, err = json.Marshal(value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
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
	n.Secrets = box.Seal(text, Place(n))
	return nil
}

// Rewritten is a node with another driver_internal_info, its secrets sealed.
func Rewritten(box *secrets.Box, n *baremetal.Node, info map[string]any) (*baremetal.Node, error) {
	after := *n
	var err error
	if after.DriverInternalInfo, err = json.Marshal(info); err != nil {
		return nil, fmt.Errorf("driver_internal_info: %w", err)
	}
	return &after, Conceal(box, &after, n)
}

// Hide puts the mask in the place of every secret below a value, and the secrets
// into found.
func Hide(value any, path string, keys []string, old, found map[string]any) {
	list, _ := value.([]any)
	for i, inner := range list {
		Hide(inner, fmt.Sprintf("%s/%d", path, i), keys, old, found)
	}
	object, ok := value.(*pyjson.Object)
	if !ok {
		return
	}
	for _, key := range object.Keys() {
		inner, _ := object.Get(key)
		at := path + "/" + key
		if !secret(key, keys) || inner == nil || inner == "" {
			Hide(inner, at, keys, old, found)
			continue
		}
		if inner == Mask {
			was, had := old[at]
			if !had {
				continue // a mask that hides nothing
			}
			inner = was
		}
		found[at] = inner
		object.Set(key, Mask)
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
