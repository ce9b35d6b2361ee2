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
	values []any // of the key at the same place
	// places are the keys', once there are more than few; a map takes several times
	// the memory of what most objects hold.
	places map[string]int
}

// few are as many keys as are found soon enough by looking at each.
const few = 16

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
func (o *Object) At(i int) (key, value any) { return o.keys[i], o.values[i] }

// place is where a key stands, or -1.
func (o *Object) place(key string) int {
	if o.places == nil {
		return slices.Index(o.keys, key)
	}
	if i, there := o.places[key]; there {
		return i
	}
	return -1
}

// findAll notes where each key stands, if they are many.
func (o *Object) findAll() {
	if o.places = nil; len(o.keys) <= few {
		return
	}
	o.places = make(map[string]int, len(o.keys))
	for i, key := range o.keys {
		o.places[key] = i
	}
}

// Get gives the value of a key and whether it is there.
func (o *Object) Get(key string) (any, bool) {
	if o == nil {
		return nil, false
	}
	if i := o.place(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// Set adds a key at the end, or changes its value where it stands.
func (o *Object) Set(key string, value any) {
	if i := o.place(key); i >= 0 {
		o.values[i] = value
		return
	}
	o.keys, o.values = append(o.keys, key), append(o.values, value)
	switch {
	case o.places != nil:
		o.places[key] = len(o.keys) - 1
	case len(o.keys) > few:
		o.findAll()
	}
}

// Delete takes a key away, if it is there.
func (o *Object) Delete(key string) {
	if i := o.place(key); i >= 0 {
		o.keys, o.values = slices.Delete(o.keys, i, i+1), slices.Delete(o.values, i, i+1)
		o.findAll()
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
		value, err := json.Marshal(o.values[i])
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
		for i, key := range x.keys {
			value, there := y.Get(key)
			if !there || !Equal(x.values[i], value) {
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
