package rest

// Values as the originals quote them in their messages.

import (
	"encoding/json"

	"holdfast.dev/internal/pyjson"
)

// PyRepr writes a JSON value as Python's repr would, keys in the order they
// were sent. Clients match on such messages.
func PyRepr(raw json.RawMessage) string {
	value, _, err := pyjson.Parse(raw)
	if err != nil {
		return string(raw)
	}
	return pyjson.Repr(value)
}
