package value

// JSON, as Python's json module writes and reads it.

import (
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"holdfast.dev/internal/pyjson"
)

// JSON writes v with ", " and ": " between things and everything outside ASCII
// escaped; with the keys in the order of their names if sorted.
func JSON(v any, sorted bool) string {
	var b strings.Builder
	writeJSON(&b, v, sorted)
	return b.String()
}

// MarshalJSON writes the map in its order.
func (m *Map) MarshalJSON() ([]byte, error) { return []byte(JSON(m, false)), nil }

func writeJSON(b *strings.Builder, v any, sorted bool) {
	switch x := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(x))
	case *big.Int:
		b.WriteString(x.String())
	case float64:
		b.WriteString(pyjson.Repr(x))
	case []any:
		b.WriteByte('[')
		for i, item := range x {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, item, sorted)
		}
		b.WriteByte(']')
	case *Map:
		order := make([]int, x.Len())
		names := make([]string, x.Len())
		for i, key := range x.Keys() {
			order[i], names[i] = i, keyText(key)
		}
		if sorted {
			sort.SliceStable(order, func(i, j int) bool { return names[order[i]] < names[order[j]] })
		}
		b.WriteByte('{')
		for n, i := range order {
			if n > 0 {
				b.WriteString(", ")
			}
			writeString(b, names[i])
			b.WriteString(": ")
			writeJSON(b, x.values[i], sorted)
		}
		b.WriteByte('}')
	default:
		writeString(b, Str(v))
	}
}

// keyText is the text a key has in JSON.
func keyText(key any) string {
	switch k := key.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(k)
	}
	return Str(key)
}

const hexDigits = "0123456789abcdef"

func writeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\f':
			b.WriteString(`\f`)
		case c >= ' ' && c < 0x7f:
			b.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			escape(b, high)
			escape(b, low)
		default:
			escape(b, c)
		}
	}
	b.WriteByte('"')
}

func escape(b *strings.Builder, c rune) {
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(hexDigits[(c>>shift)&0xf])
	}
}

// ParseJSON reads JSON text. The error has the text of the package that reads
// request bodies, or Python's where there is no value at all.
func ParseJSON(text string) (any, error) {
	v, _, err := pyjson.Parse([]byte(text))
	if err == nil {
		return Of(v), nil
	}
	begin := strings.TrimSpace(text)
	for _, possible := range []string{"{", "[", `"`, "-", "true", "false", "null"} {
		if strings.HasPrefix(begin, possible) {
			return nil, Errorf("ValueError", "%s", err)
		}
	}
	if begin != "" && begin[0] >= '0' && begin[0] <= '9' {
		return nil, Errorf("ValueError", "%s", err)
	}
	return nil, Errorf("ValueError", "Expecting value: line 1 column 1 (char 0)")
}

// Plain is v with every key a string, as a value is after a trip through JSON.
func Plain(v any) any {
	switch x := v.(type) {
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			list[i] = Plain(item)
		}
		return list
	case *Map:
		m := &Map{Line: x.Line}
		for i, key := range x.Keys() {
			m.SetAt(keyText(key), Plain(x.values[i]), x.LineOf(key))
		}
		return m
	}
	return v
}
