package inspection

// Places in the arguments of rules: {node.driver_info[x]}, {inventory[cpu][count]},
// {plugin_data[x]}, and {item[x]} of a loop, as Python's str.format has them.

import (
	"math/big"
	"slices"
	"strings"

	"holdfast.dev/internal/pyjson"
)

// secretKeys are those of what was found whose values rules don't see.
var secretKeys = []string{"password", "auth_token", "bmc_password"}

// hidden is a value with the secrets below it hidden.
func hidden(value any) any {
	switch value := value.(type) {
	case []any:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = hidden(item)
		}
		return all
	case *pyjson.Object:
		shown := &pyjson.Object{}
		for _, key := range value.Keys() {
			item, _ := value.Get(key)
			if slices.Contains(secretKeys, key) {
				item = "***"
			}
			shown.Set(key, hidden(item))
		}
		return shown
	}
	return value
}

// filler fills places in.
type filler struct {
	names map[string]any
	// loops says that a text may have places in what is filled in, nothing that a place
	// of what isn't there is nothing.
	loops, nothing bool
}

func (c *carrier) filler(item any, nothing bool) filler {
	inventory, plugin := any(c.Inventory), any(c.Plugin)
	if c.masked {
		inventory, plugin = hidden(inventory), hidden(plugin)
	}
	f := filler{names: map[string]any{"node": row{c.Node}, "inventory": inventory, "plugin_data": plugin}, loops: item != nil, nothing: nothing}
	if item != nil {
		f.names["item"] = item
	}
	return f
}

// row is a node, whose fields are named after a dot.
type row struct{ *pyjson.Object }

// fill gives a value with its places filled in.
func (f filler) fill(value any) any {
	switch value := value.(type) {
	case string:
		filled := f.text(value)
		if text, is := filled.(string); is && f.loops {
			return f.text(text)
		}
		return filled
	case []any:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = f.fill(item)
		}
		return all
	case *pyjson.Object:
		all := &pyjson.Object{}
		for _, key := range value.Keys() {
			item, _ := value.Get(key)
			all.Set(pyText(f.text(key)), f.fill(item))
		}
		return all
	}
	return value
}

// text fills a text in; one that can't be stays as it is.
func (f filler) text(format string) any {
	var b strings.Builder
	for rest := format; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:at])
		if at+1 < len(rest) && rest[at+1] == rest[at] {
			b.WriteByte(rest[at])
			rest = rest[at+2:]
			continue
		}
		end := strings.IndexByte(rest[at:], '}')
		if rest[at] == '}' || end < 0 {
			return format
		}
		value, missing, ok := f.place(rest[at+1 : at+end])
		switch {
		case missing && f.nothing:
			return nil
		case !ok:
			return format
		}
		b.WriteString(value)
		rest = rest[at+end+1:]
	}
	return b.String()
}

// place is what a place stands for: missing says that it leads to nothing.
func (f filler) place(field string) (text string, missing, ok bool) {
	path, conversion, _ := strings.Cut(field, "!")
	if strings.Contains(path, ":") || conversion != "" && conversion != "s" && conversion != "r" {
		return "", false, false
	}
	end := strings.IndexAny(path, ".[")
	name := path
	if end >= 0 {
		name = path[:end]
	}
	value, there := f.names[name]
	if !there {
		return "", true, false
	}
	for rest := path[len(name):]; rest != ""; {
		var key string
		switch {
		case rest[0] == '.':
			next := strings.IndexAny(rest[1:], ".[")
			if next < 0 {
				next = len(rest) - 1
			}
			key, rest = rest[1:1+next], rest[1+next:]
			r, is := value.(row)
			if !is {
				return "", false, false
			}
			if value, there = r.Get(key); !there {
				return "", false, false
			}
		case rest[0] == '[' && strings.Contains(rest, "]"):
			next := strings.IndexByte(rest, ']')
			key, rest = rest[1:next], rest[next+1:]
			if value, missing = below(value, key); value == nil && missing {
				return "", true, false
			}
		default:
			return "", false, false
		}
	}
	if conversion == "r" {
		return pyjson.Repr(value), false, true
	}
	return pyjson.Str(value), false, true
}

// below is what a value has under a key, or a number in a list. A number is none of the
// keys of an object, as in Python.
func below(value any, key string) (inner any, missing bool) {
	number, numeric := new(big.Int).SetString(key, 10)
	switch value := value.(type) {
	case *pyjson.Object:
		inner, there := value.Get(key)
		if !there || numeric {
			return nil, true
		}
		return inner, false
	case []any:
		if numeric && number.IsInt64() && number.Int64() >= 0 && number.Int64() < int64(len(value)) {
			return value[number.Int64()], false
		}
	}
	return nil, true
}

// pyText is a value as a text: a text is itself, nothing is empty.
func pyText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	}
	return pyjson.Str(value)
}
