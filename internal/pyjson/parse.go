package pyjson

// Reading.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 100

// maxDigits is Python's limit on the digits of an integer.
const maxDigits = 4300

// Reasons for which Parse refuses a text.
var (
	ErrSyntax   = errors.New("not one JSON value")
	ErrEncoding = errors.New("not UTF-8")
	ErrDepth    = fmt.Errorf("nested deeper than %d", MaxDepth)
	ErrNumber   = fmt.Errorf("an integer of more than %d digits", maxDigits)
)

// Parse reads one JSON value (RFC 8259) and nothing after it. Of a key that
// stands twice the last value counts, as in Python; repeated says that there
// was one, so that a caller can hand on the value instead of the text.
func Parse(text []byte) (value any, repeated bool, err error) {
	switch {
	case !utf8.Valid(text) || loneSurrogate(text):
		return nil, false, ErrEncoding
	case !json.Valid(text):
		return nil, false, ErrSyntax
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := reader{d: d}
	value, err = r.value(0)
	return value, r.repeated, err
}

type reader struct {
	d        *json.Decoder
	repeated bool
}

func (r *reader) value(depth int) (any, error) {
	token, err := r.d.Token()
	if err != nil {
		return nil, ErrSyntax
	}
	switch v := token.(type) {
	case json.Delim:
		if depth == MaxDepth {
			return nil, ErrDepth
		}
		if v == '{' {
			return r.object(depth + 1)
		}
		return r.array(depth + 1)
	case json.Number:
		return parseNumber(v.String())
	}
	return token, nil
}

func (r *reader) object(depth int) (any, error) {
	o := &Object{}
	for r.d.More() {
		token, err := r.d.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, ErrSyntax
		}
		value, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		if _, there := o.Get(key); there {
			r.repeated = true
		}
		o.Set(key, value)
	}
	return o, r.end()
}

func (r *reader) array(depth int) (any, error) {
	items := []any{}
	for r.d.More() {
		item, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, r.end()
}

func (r *reader) end() error {
	if _, err := r.d.Token(); err != nil {
		return ErrSyntax
	}
	return nil
}

func parseNumber(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, ErrSyntax
		}
		return f, nil
	}
	if len(text) > maxDigits {
		return nil, ErrNumber
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, ErrSyntax
	}
	return n, nil
}

// loneSurrogate finds a \uD800 to \uDFFF that is no half of a pair: such a text
// can't be written as UTF-8, and Go would put another character in its place.
func loneSurrogate(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if text[i+1] != 'u' {
			i++ // what is escaped begins no escape
			continue
		}
		switch unit := hexUnit(text[i:]); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return true
		case unit >= 0xD800 && unit <= 0xDBFF:
			i += 6
			if second := hexUnit(text[min(i, len(text)):]); second < 0xDC00 || second > 0xDFFF {
				return true
			}
			i += 5
		default:
			i++
		}
	}
	return false
}

// hexUnit is the code unit of the \uXXXX that text begins with, or -1.
func hexUnit(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// Finite says whether all numbers of what Parse gave are numbers; 1e999 is infinite, as
// in Python.
func Finite(value any) bool {
	switch v := value.(type) {
	case float64:
		return !math.IsInf(v, 0) && !math.IsNaN(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !Finite(item) })
	case *Object:
		return v == nil || !slices.ContainsFunc(v.values, func(item any) bool { return !Finite(item) })
	}
	return true
}
