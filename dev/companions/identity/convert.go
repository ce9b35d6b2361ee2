package identity

// From the open form of JSON to a type, for parts of a body that have several shapes.

import "encoding/json"

func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
