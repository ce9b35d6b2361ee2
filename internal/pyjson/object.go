package pyjson

// Objects, whose keys keep the order in which they were sent.

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
)

// Object is a JSON object. The zero Object is empty.
type Object struct {
	keys   []string
	values map[string]any
}

// Len is the number of keys; nil has none.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys are the keys in their order. The caller must not change them.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// At gives the key and value at a place in the order.
func (o *Object) At(i int) (key, value any) { return o.keys[i], o.values[o.keys[i]] }

// Get gives the value of a key and whether it is there.
func (o *Object) Get(key string) (any, bool) {
	if o == nil {
		return nil, false
	}
	value, ok := o.values[key]
	return value, ok
}

// Set adds a key at the end, or changes its value where it stands.
func (o *Object) Set(key string, value any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Delete takes a key away, if it is there.
func (o *Object) Delete(key string) {
	if _, there := o.values[key]; there {
		delete(o.values, key)
		o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	}
}

// MarshalJSON writes the object in its order.
func (o *Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[key])
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Equal compares as Python does, in which 1 and 1.0 are the same; True is kept
// apart from 1, as python-jsonschema keeps it.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case *Object:
		y, ok := b.(*Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for _, key := range x.Keys() {
			value, there := y.Get(key)
			if !there || !Equal(x.values[key], value) {
				return false
			}
		}
		return true
	case *big.Int, float64:
		order, ok := Compare(a, b)
		return ok && order == 0
	}
	switch b.(type) {
	case []any, *Object, *big.Int, float64:
		return false
	}
	return a == b
}

// Compare orders two numbers; false if one is none.
func Compare(a, b any) (int, bool) {
	x, ok := number(a)
	if !ok {
		return 0, false
	}
	y, ok := number(b)
	if !ok {
		return 0, false
	}
	return x.Cmp(y), true
}

// exact is enough for every float64 beside every integer that Parse lets in.
const exact = 16384

func number(v any) (*big.Float, bool) {
	switch n := v.(type) {
	case *big.Int:
		return new(big.Float).SetPrec(exact).SetInt(n), true
	case float64:
		if n != n {
			return nil, false
		}
		return new(big.Float).SetPrec(exact).SetFloat64(n), true
	}
	return nil, false
}
