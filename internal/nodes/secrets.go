package nodes

// Secrets of nodes: passwords and the like in driver_info and instance_info are
// masked in the row and kept sealed beside it.

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// Kept are the secrets of a node: by field, then by the path within it.
type Kept map[string]map[string]any

// Place is what a node's secrets are sealed for.
func Place(n *baremetal.Node) string { return "baremetal.nodes/" + n.UUID }

// Opened are the secrets that a node has.
func Opened(box *secrets.Box, n *baremetal.Node) (Kept, error) {
	all := Kept{}
	if len(n.Secrets) == 0 {
		return all, nil
	}
	text, err := box.Open(n.Secrets, Place(n))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the secrets of node %s: %w", n.UUID, err)
	}
	return all, nil
}

// Revealed is a field of a node, kept as raw, with its secrets in place.
func Revealed(box *secrets.Box, n *baremetal.Node, field string, raw json.RawMessage) (any, error) {
	all, err := Opened(box, n)
	if err != nil {
		return nil, err
	}
	value, _, err := pyjson.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	all.Show(value, field, func(plain any) any { return plain })
	return value, nil
}

// Show has a field of a node show its secrets, each as what as makes of it.
func (k Kept) Show(value any, field string, as func(plain any) any) { show(value, "", k[field], as) }

func show(value any, path string, secrets map[string]any, as func(plain any) any) {
	list, _ := value.([]any)
	for i, inner := range list {
		show(inner, fmt.Sprintf("%s/%d", path, i), secrets, as)
	}
	object, ok := value.(*pyjson.Object)
	if !ok {
		return
	}
	for _, key := range object.Keys() {
		inner, _ := object.Get(key)
		if plain, is := secrets[path+"/"+key]; is {
			object.Set(key, as(plain))
			continue
		}
		show(inner, path+"/"+key, secrets, as)
	}
}

// Info is a node's driver_info or instance_info as its drivers read it.
type Info struct {
	node   *baremetal.Node
	object *pyjson.Object
}

// DriverInfo reads a node's driver_info with its secrets in place.
func DriverInfo(box *secrets.Box, n *baremetal.Node) (Info, error) {
	return infoOf(box, n, "driver_info", n.DriverInfo)
}

// InstanceInfo reads a node's instance_info with its secrets in place.
func InstanceInfo(box *secrets.Box, n *baremetal.Node) (Info, error) {
	return infoOf(box, n, "instance_info", n.InstanceInfo)
}

func infoOf(box *secrets.Box, n *baremetal.Node, field string, raw json.RawMessage) (Info, error) {
	value, err := Revealed(box, n, field, raw)
	if err != nil {
		return Info{}, err
	}
	object, ok := value.(*pyjson.Object)
	if !ok {
		object = &pyjson.Object{}
	}
	return Info{n, object}, nil
}

// Known is what a node's operations and its ramdisk have written down in its
// driver_internal_info, with its secrets in place.
func Known(box *secrets.Box, n *baremetal.Node) (map[string]any, error) {
	value, err := Revealed(box, n, "driver_internal_info", n.DriverInternalInfo)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	known := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("driver_internal_info of node %s: %w", n.UUID, err)
	}
	return known, nil
}

// get gives a value; nil if there is none.
func (i Info) get(name string) any {
	value, _ := i.object.Get(name)
	return value
}

// text gives a value that is a text; empty for any other.
func (i Info) text(name string) string {
	text, _ := i.get(name).(string)
	return text
}

// given says whether there is a value that isn't empty.
func (i Info) given(name string) bool {
	switch value := i.get(name).(type) {
	case nil:
		return false
	case string:
		return value != ""
	}
	return true
}

// OwnSecrets are a node's sealed secrets without those of its instance; nil if there
// are none.
func OwnSecrets(box *secrets.Box, n *baremetal.Node) ([]byte, error) {
	all, err := Opened(box, n)
	if err != nil {
		return nil, err
	}
	if delete(all, "instance_info"); len(all) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("secrets of node %s: %w", n.UUID, err)
	}
	return box.Seal(text, Place(n)), nil
}
