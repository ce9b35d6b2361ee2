package baremetal

// Bodies of a few named arguments, which the original checks one by one.

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// given are the arguments of a request.
type given map[string]any

// readArguments reads a body that is an object of named arguments; the first one must
// be there. Errors: Invalid.
func readArguments(r *rest.Request, known ...string) (given, error) {
	body, _ := r.Body().(*pyjson.Object)
	all := given{}
	for _, name := range body.Keys() {
		if !slices.Contains(known, name) {
			return nil, faults.New(faults.Invalid, "UnknownArgument", "Unexpected arguments: %s", name)
		}
		all[name], _ = body.Get(name)
	}
	if all[known[0]] == nil {
		return nil, faults.New(faults.Invalid, "MissingParameterValue", "Missing mandatory parameter: %s", known[0])
	}
	return all, nil
}

// text gives an argument that is a text.
func (g given) text(name string) (string, error) {
	text, ok := g[name].(string)
	if !ok {
		return "", invalid("Expected string for %s: %s", name, printed(g[name]))
	}
	return text, nil
}

// number gives an argument that is a whole number or the text of one; nil if it
// isn't there. What is beyond every number is as large as one can be.
func (g given) number(name string) (*int64, error) {
	var n int64
	switch value := g[name].(type) {
	case nil:
		return nil, nil
	case *big.Int:
		n = clipped(value)
	case float64:
		whole, _ := big.NewFloat(value).Int(nil)
		n = clipped(whole)
	case bool:
		if value {
			n = 1
		}
	case string:
		whole, ok := new(big.Int).SetString(strings.TrimSpace(value), 10)
		if !ok {
			return nil, invalid("Expected an integer for %s: %s", name, value)
		}
		n = clipped(whole)
	default:
		return nil, invalid("Expected an integer for %s: %s", name, printed(value))
	}
	return &n, nil
}

// truth gives an argument that is true or false, or a text or a number that says so; nil
// if it isn't there.
func (g given) truth(name string) (*bool, error) {
	if g[name] == nil {
		return nil, nil
	}
	is, err := boolean(name, printed(g[name]))
	if err != nil {
		return nil, err
	}
	return &is, nil
}

// clipped is a number as near as an int64 comes to it.
func clipped(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// printed is a value as the original's refusals print it.
func printed(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return pyjson.Repr(value)
}
