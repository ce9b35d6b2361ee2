package resourcetype

// Values made of a property's type, as the original makes them.

import (
	"math/big"
	"strconv"
	"strings"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// zeros are what a null is, where there is no default.
var zeros = map[string]any{"string": "", "integer": value.Int(0), "number": value.Int(0), "boolean": false}

// As makes a value of a type.
func As(kind string, v any) (any, error) { return check{}.convert(&Property{Type: kind}, v) }

// convert makes a value of the property's type; null is its default.
func (c check) convert(p *Property, v any) (any, error) {
	if v == nil {
		if v = p.Default; v == nil {
			v = zeros[p.Type]
		}
	}
	switch p.Type {
	case "string":
		return text(v)
	case "integer":
		return integer(v)
	case "number":
		n, err := value.ToNumber(v)
		if err != nil {
			return nil, value.Errorf(hot.ValueError, "Value '%s' is not a number", value.Str(v))
		}
		return n, nil
	case "boolean":
		return boolean(v)
	case "map":
		return c.mapping(p, v)
	case "list":
		return c.list(p, v)
	}
	return v, nil
}

func text(v any) (any, error) {
	switch v.(type) {
	case string:
		return v, nil
	case bool, *big.Int:
		return value.Str(v), nil
	}
	return nil, value.Errorf(hot.ValueError, "Value must be a string; got %s", value.Repr(v))
}

func integer(v any) (any, error) {
	switch x := v.(type) {
	case *big.Int:
		return x, nil
	case bool:
		if x {
			return value.Int(1), nil
		}
		return value.Int(0), nil
	case float64:
		n, _ := big.NewFloat(x).Int(nil)
		return n, nil
	case string:
		if n, ok := value.ToInt(x); ok {
			return n, nil
		}
	}
	return nil, value.Errorf(hot.TypeError, "Value '%s' is not an integer", value.Str(v))
}

func boolean(v any) (any, error) {
	said := v
	switch x := v.(type) {
	case bool:
		return x, nil
	case string:
		lower := strings.ToLower(x)
		if lower == "true" || lower == "false" {
			return lower == "true", nil
		}
		said = lower
	}
	return nil, value.Errorf(hot.ValueError, `"%s" is not a valid boolean`, value.Str(said))
}

func (c check) mapping(p *Property, v any) (any, error) {
	if v == nil {
		v = &value.Map{}
	}
	switch v.(type) {
	case string:
		if p.Lenient {
			return v, nil
		}
	case []any:
		if p.Lenient {
			return value.JSON(v, false), nil
		}
	}
	m, ok := v.(*value.Map)
	if !ok {
		return nil, value.Errorf(hot.TypeError, `"%s" is not a map`, value.Str(v))
	}
	if len(p.Schema.Names) == 0 {
		return m, nil
	}
	return c.all(p.Schema, m, true)
}

func (c check) list(p *Property, v any) (any, error) {
	if v == nil {
		v = []any{}
	}
	if text, is := v.(string); is && p.Lenient {
		return separated(text), nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, value.Errorf(hot.TypeError, `"%s" is not a list`, value.Repr(v))
	}
	item, ok := p.Schema.Get("*")
	if !ok {
		return items, nil
	}
	made := make([]any, len(items))
	for i, one := range items {
		var err error
		if made[i], err = c.value(item, one); err != nil {
			return nil, wrong(err, strconv.Itoa(i))
		}
	}
	return made, nil
}

// separated are the items of a list that is a text.
func separated(text string) []any {
	if text == "" {
		return []any{}
	}
	list := []any{}
	for item := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}
