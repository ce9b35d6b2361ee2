package baremetal

// Secrets of nodes: passwords and the like in driver_info and instance_info are
// masked in the row and kept sealed beside it (internal/nodes).

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store/baremetal"
)

// mask is what clients see of a secret.
const mask = nodes.Mask

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
// place; nodes.Conceal has to hide them again.
func (a *API) changeable(n *baremetal.Node) (*pyjson.Object, error) {
	kept, err := nodes.Opened(a.Secrets, n)
	if err != nil {
		return nil, err
	}
	document, err := documentOf(n)
	if err != nil {
		return nil, err
	}
	for _, f := range nodes.SecretFields {
		value, _ := document.Get(f.Name)
		kept.Show(value, f.Name, func(plain any) any { return concealed{plain} })
	}
	return document, nil
}

// revealed is a field of a node with its secrets in place.
func (a *API) revealed(n *baremetal.Node, field string) (any, error) {
	for _, f := range nodes.SecretFields {
		if f.Name == field {
			return nodes.Revealed(a.Secrets, n, field, *f.Of(n))
		}
	}
	return nil, fmt.Errorf("%s holds no secrets", field)
}
