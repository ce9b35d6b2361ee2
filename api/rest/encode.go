package rest

// Bodies as JSON text.

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Collection is a body {"<name>": [items...], ...beside}. Its items are made
// and encoded one after the other, so that of a long list nothing but its text
// is ever there as a whole.
type Collection struct {
	Name   string
	Items  iter.Seq[any]
	Beside map[string]any
}

// Text is a body that isn't JSON.
type Text string

// buffers are used again, since a page of a list takes a megabyte or two.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKept is the largest buffer that is kept, in bytes.
const maxKept = 4 << 20

// encoded gives use the text of a body, for as long as it runs.
func encoded(body any, use func(text []byte)) error {
	buffer := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= maxKept {
			buffers.Put(buffer)
		}
	}()
	w := &writer{Buffer: buffer, others: json.NewEncoder(buffer)}
	if err := w.body(body); err != nil {
		return err
	}
	use(buffer.Bytes())
	return nil
}

// writer makes text as json.Marshal has it. What most members of objects are, it
// writes itself: encoding/json would copy and sort each by reflection.
type writer struct {
	*bytes.Buffer
	// others writes everything else.
	others *json.Encoder
	// names are the last object's, in order: the next item of a list mostly has the same.
	names []string
}

func (w *writer) body(body any) error {
	if text, ok := body.(Text); ok {
		w.WriteString(string(text))
		return nil
	}
	c, ok := body.(Collection)
	if !ok {
		return w.value(body)
	}
	separator := byte('{')
	for name, beside := range c.Beside {
		w.WriteByte(separator)
		if err := w.member(name, beside); err != nil {
			return err
		}
		separator = ','
	}
	w.WriteByte(separator)
	if err := w.key(c.Name); err != nil {
		return err
	}
	separator = '['
	for item := range c.Items {
		w.WriteByte(separator)
		if err := w.value(item); err != nil {
			return err
		}
		separator = ','
	}
	if separator == '[' {
		w.WriteByte('[')
	}
	w.WriteString("]}")
	return nil
}

// object appends an object whose members are in the order of their names.
func (w *writer) object(members map[string]any) error {
	names := w.names
	if !named(members, names) {
		names = slices.Sorted(maps.Keys(members))
	}
	w.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := w.member(name, members[name]); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	w.names = names
	return nil
}

// named says whether an object's members have just these names.
func named(members map[string]any, names []string) bool {
	if len(members) != len(names) {
		return false
	}
	for _, name := range names {
		if _, ok := members[name]; !ok {
			return false
		}
	}
	return true
}

func (w *writer) member(name string, v any) error {
	if err := w.key(name); err != nil {
		return err
	}
	return w.value(v)
}

func (w *writer) key(name string) error {
	err := w.text(name)
	w.WriteByte(':')
	return err
}

func (w *writer) value(v any) error {
	switch x := v.(type) {
	case nil:
		w.WriteString("null")
		return nil
	case bool:
		w.Write(strconv.AppendBool(w.AvailableBuffer(), x))
		return nil
	case string:
		return w.text(x)
	case *string:
		if x != nil {
			return w.text(*x)
		}
	case json.RawMessage:
		if len(x) > 0 && plain(x) {
			return json.Compact(w.Buffer, x)
		}
	case map[string]any:
		if x != nil {
			return w.object(x)
		}
	}
	return w.other(v)
}

func (w *writer) text(s string) error {
	if !plain(s) || strings.ContainsAny(s, `"\`) {
		return w.other(s)
	}
	w.WriteByte('"')
	w.WriteString(s)
	w.WriteByte('"')
	return nil
}

// other appends what encoding/json makes of v: an Encoder ends it with a line break.
func (w *writer) other(v any) error {
	if err := w.others.Encode(v); err != nil {
		return err
	}
	w.Truncate(w.Len() - 1)
	return nil
}

// plain says whether a text has only characters that encoding/json leaves as they
// are inside of strings, but for quotes and backslashes.
func plain[T string | json.RawMessage](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
