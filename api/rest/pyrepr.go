package rest

// Values as the originals quote them in their messages: Python's repr.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// PyRepr writes a JSON value as Python's repr would, keys in the order they
// were sent. Clients match on such messages.
func PyRepr(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var b strings.Builder
	if pyValue(decoder, &b) != nil {
		return string(raw)
	}
	return b.String()
}

func pyValue(d *json.Decoder, b *strings.Builder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return pyContainer(d, b, v)
	case string:
		b.WriteString(pyString(v))
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case nil:
		b.WriteString("None")
	default:
		fmt.Fprint(b, v)
	}
	return nil
}

func pyContainer(d *json.Decoder, b *strings.Builder, open json.Delim) error {
	b.WriteString(open.String())
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if open == '{' {
			if err := pyValue(d, b); err != nil {
				return err
			}
			b.WriteString(": ")
		}
		if err := pyValue(d, b); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	b.WriteString(end.(json.Delim).String())
	return nil
}

// pyString quotes with ' unless the text has one and no ".
func pyString(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	escaped := strings.NewReplacer(`\`, `\\`, quote, `\`+quote, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	return quote + escaped + quote
}
