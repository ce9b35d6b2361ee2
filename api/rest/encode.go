package rest

// Bodies as JSON text.

import (
	"bytes"
	"encoding/json"
	"iter"
	"sync"
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
	if err := encode(buffer, body); err != nil {
		return err
	}
	use(buffer.Bytes())
	return nil
}

func encode(buffer *bytes.Buffer, body any) error {
	if text, ok := body.(Text); ok {
		buffer.WriteString(string(text))
		return nil
	}
	c, ok := body.(Collection)
	if !ok {
		return value(buffer, body)
	}
	for name, beside := range c.Beside {
		if err := key(buffer, name); err != nil {
			return err
		}
		if err := value(buffer, beside); err != nil {
			return err
		}
	}
	if err := key(buffer, c.Name); err != nil {
		return err
	}
	separator := byte('[')
	for item := range c.Items {
		buffer.WriteByte(separator)
		if err := value(buffer, item); err != nil {
			return err
		}
		separator = ','
	}
	if separator == '[' {
		buffer.WriteByte('[')
	}
	buffer.WriteString("]}")
	return nil
}

// key begins a member of the body's object.
func key(buffer *bytes.Buffer, name string) error {
	if buffer.Len() == 0 {
		buffer.WriteByte('{')
	} else {
		buffer.WriteByte(',')
	}
	if err := value(buffer, name); err != nil {
		return err
	}
	buffer.WriteByte(':')
	return nil
}

// value appends v as json.Marshal has it: an Encoder ends it with a line break.
func value(buffer *bytes.Buffer, v any) error {
	if err := json.NewEncoder(buffer).Encode(v); err != nil {
		return err
	}
	buffer.Truncate(buffer.Len() - 1)
	return nil
}
