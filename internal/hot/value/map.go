package value

// Maps, whose keys keep the order in which they were written.

import (
	"math"
	"math/big"
)

// Map is a mapping. The zero Map is empty. A key is a string, or another
// scalar where YAML has one.
type Map struct {
	keys   []any
	values []any
	lines  []int
	index  map[any]int
	// Line is where the map begins in the text it was read from; 0 if it
	// wasn't read from text.
	Line int
}

// scan is how many keys are looked at one by one before there is an index.
const scan = 8

// NewMap makes a map of keys and values in turn.
func NewMap(pairs ...any) *Map {
	m := &Map{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Set(pairs[i], pairs[i+1])
	}
	return m
}

// Len is the number of keys; nil has none.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// Keys are the keys in their order. The caller must not change them.
func (m *Map) Keys() []any {
	if m == nil {
		return nil
	}
	return m.keys
}

// At gives the key and value at a place in the order.
func (m *Map) At(i int) (key, value any) { return m.keys[i], m.values[i] }

// Get gives the value of a key and whether it is there.
func (m *Map) Get(key any) (any, bool) {
	if i, there := m.find(key); there {
		return m.values[i], true
	}
	return nil, false
}

// Has says whether a key is there.
func (m *Map) Has(key any) bool {
	_, there := m.find(key)
	return there
}

// LineOf is the line of a key, or that of the map if it isn't known.
func (m *Map) LineOf(key any) int {
	if m == nil {
		return 0
	}
	if i, there := m.find(key); there && m.lines != nil && m.lines[i] > 0 {
		return m.lines[i]
	}
	return m.Line
}

// Set adds a key at the end, or changes its value where it stands. It is for
// whoever builds the map, before anybody else sees it.
func (m *Map) Set(key, value any) { m.SetAt(key, value, 0) }

// SetAt is Set, with the line the key was read from.
func (m *Map) SetAt(key, value any, line int) {
	i, there := m.find(key)
	if there {
		m.values[i] = value
		if m.lines != nil {
			m.lines[i] = line
		}
		return
	}
	if line > 0 && m.lines == nil {
		m.lines = make([]int, len(m.keys), len(m.keys)+1)
	}
	m.keys, m.values = append(m.keys, key), append(m.values, value)
	if m.lines != nil {
		m.lines = append(m.lines, line)
	}
	switch {
	case m.index != nil:
		m.index[hash(key)] = len(m.keys) - 1
	case len(m.keys) > scan:
		m.index = make(map[any]int, 2*len(m.keys))
		for i, k := range m.keys {
			m.index[hash(k)] = i
		}
	}
}

// Copy is a map with the same keys and values, which may be changed.
func (m *Map) Copy() *Map {
	c := &Map{}
	if m == nil {
		return c
	}
	c.Line = m.Line
	for i, key := range m.keys {
		line := 0
		if m.lines != nil {
			line = m.lines[i]
		}
		c.SetAt(key, m.values[i], line)
	}
	return c
}

// Without is a copy that lacks some keys.
func (m *Map) Without(keys ...any) *Map {
	c := &Map{}
	if m == nil {
		return c
	}
	c.Line = m.Line
next:
	for i, key := range m.keys {
		for _, k := range keys {
			if Equal(k, key) {
				continue next
			}
		}
		c.SetAt(key, m.values[i], m.LineOf(key))
	}
	return c
}

func (m *Map) find(key any) (int, bool) {
	if m == nil {
		return 0, false
	}
	if m.index != nil {
		i, there := m.index[hash(key)]
		return i, there
	}
	wanted := hash(key)
	for i, k := range m.keys {
		if hash(k) == wanted {
			return i, true
		}
	}
	return 0, false
}

// number and unhashable are keys of a kind of their own, so that no string can
// pass for them.
type (
	number     string
	unhashable struct{ _ byte }
)

// hash is the form of a key under which equal keys are the same Go value.
func hash(key any) any {
	switch k := key.(type) {
	case string:
		return k
	case nil:
		return number("None")
	case bool:
		if k {
			return number("1")
		}
		return number("0")
	case *big.Int:
		return number(k.String())
	case float64:
		if k == math.Trunc(k) && !math.IsInf(k, 0) {
			whole, _ := big.NewFloat(k).Int(nil)
			return number(whole.String())
		}
		return number(Str(k))
	}
	return unhashable{}
}

// Hashable says whether a value can be a key.
func Hashable(v any) bool {
	switch v.(type) {
	case nil, bool, string, *big.Int, float64:
		return true
	}
	return false
}
