package pyjson

// Printing.

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// Mapping is what is printed as a dict: an Object, or a map of another package.
type Mapping interface {
	Len() int
	At(i int) (key, value any)
}

// Repr is Python's repr(value).
func Repr(value any) string {
	var b strings.Builder
	repr(&b, value)
	return b.String()
}

// Truths are what oslo's bool_from_string takes when it is strict, as it lists them.
const Truths = "'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"

// Truth reads a value as that does.
func Truth(value any) (truth, ok bool) {
	if truth, ok = value.(bool); ok {
		return truth, true
	}
	switch strings.ToLower(strings.TrimSpace(Str(value))) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

// Str is Python's str(value): a string without quotes, else its repr.
func Str(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return Repr(value)
}

// TypeName is the name of a value's type in Python.
func TypeName(value any) string {
	switch value.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case *big.Int:
		return "int"
	case float64:
		return "float"
	case []any:
		return "list"
	case Mapping:
		return "dict"
	}
	return "object"
}

func repr(b *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case string:
		reprString(b, v)
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(reprFloat(v))
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			repr(b, item)
		}
		b.WriteByte(']')
	case Mapping:
		b.WriteByte('{')
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			key, item := v.At(i)
			repr(b, key)
			b.WriteString(": ")
			repr(b, item)
		}
		b.WriteByte('}')
	default:
		fmt.Fprint(b, v)
	}
}

// reprFloat is the shortest text that reads back the same, with an exponent
// only where Python has one.
func reprFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// named are the escapes that have a letter.
var named = map[rune]string{'\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// reprString quotes with ' unless the text has one and no ".
func reprString(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, c := range s {
		letter, isNamed := named[c]
		switch {
		case isNamed:
			b.WriteString(letter)
		case c == quote:
			b.WriteByte('\\')
			b.WriteRune(c)
		case printable(c):
			b.WriteRune(c)
		case c <= 0xFF:
			fmt.Fprintf(b, `\x%02x`, c)
		case c <= 0xFFFF:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			fmt.Fprintf(b, `\U%08x`, c)
		}
	}
	b.WriteRune(quote)
}

// printable is Python's str.isprintable of a character: nothing of the
// categories C and Z but the space, and nothing unassigned.
func printable(c rune) bool {
	return c == ' ' || unicode.IsPrint(c)
}
