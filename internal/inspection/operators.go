package inspection

// The operators of rules' conditions.

import (
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// operator says whether something holds of its arguments.
type operator struct {
	takes takes
	holds func(map[string]any) (bool, error)
}

var (
	ofValues = takes{[]string{"values"}, []string{"force_strings"}, []string{"values"}}
	ofValue  = takes{[]string{"value"}, nil, []string{"value"}}
	ofText   = takes{[]string{"value", "regex"}, nil, []string{"value"}}
)

var operators = map[string]operator{
	"eq": {ofValues, inRow("eq", "==", func(order int) bool { return order == 0 })},
	"lt": {ofValues, inRow("lt", "<", func(order int) bool { return order < 0 })},
	"gt": {ofValues, inRow("gt", ">", func(order int) bool { return order > 0 })},
	"is-empty": {ofValue, func(a map[string]any) (bool, error) {
		return slices.Contains([]string{"", "None", "[]", "{}"}, pyjson.Str(a["value"])), nil
	}},
	"is-none":  {ofValue, func(a map[string]any) (bool, error) { return a["value"] == nil, nil }},
	"is-true":  {ofValue, func(a map[string]any) (bool, error) { return truthful(a["value"], "yes", "true"), nil }},
	"is-false": {ofValue, func(a map[string]any) (bool, error) { return a["value"] == nil || untruthful(a["value"]), nil }},
	"in-net":   {takes{[]string{"address", "subnet"}, nil, []string{"address", "subnet"}}, inNet},
	"one-of":   {takes{[]string{"value"}, []string{"values"}, []string{"value"}}, oneOf},
	"matches":  {ofText, func(a map[string]any) (bool, error) { return matches(a, true) }},
	"contains": {ofText, func(a map[string]any) (bool, error) { return matches(a, false) }},
}

// inRow compares each of a list with the next.
func inRow(name, sign string, wants func(order int) bool) func(map[string]any) (bool, error) {
	return func(a map[string]any) (bool, error) {
		list, ok := a["values"].([]any)
		if !ok {
			return false, faults.New(faults.Invalid, "RuleConditionCheckFailure", "Inspection rule condition check failed. Reason: Failed to check condition: "+
				"'%s' on values: %s: Expected list for 'values', got: %s", name, pyjson.Str(a["values"]), pyjson.TypeName(a["values"]))
		}
		forced, _ := a["force_strings"].(bool)
		for i := 0; i+1 < len(list); i++ {
			x, y := list[i], list[i+1]
			if forced {
				x, y = pyjson.Str(x), pyjson.Str(y)
			}
			order, comparable := compared(x, y)
			switch {
			case !comparable && sign == "==":
				return false, nil
			case !comparable:
				return false, surprise("'%s' not supported between instances of '%s' and '%s'", sign, pyjson.TypeName(x), pyjson.TypeName(y))
			case !wants(order):
				return false, nil
			}
		}
		return true, nil
	}
}

// compared orders two values; what has no order can be the same.
func compared(x, y any) (order int, comparable bool) {
	a, isText := x.(string)
	b, areTexts := y.(string)
	if isText && areTexts {
		return strings.Compare(a, b), true
	}
	if order, ok := pyjson.Compare(plainNumber(x), plainNumber(y)); ok {
		return order, true
	}
	if pyjson.Equal(x, y) {
		return 0, true
	}
	return 0, false
}

// plainNumber is a truth as the number that it is in Python.
func plainNumber(value any) any {
	if truth, is := value.(bool); is {
		n := big.NewInt(0)
		if truth {
			n.SetInt64(1)
		}
		return n
	}
	return value
}

func truthful(value any, words ...string) bool {
	switch value := value.(type) {
	case bool:
		return value
	case string:
		return slices.Contains(words, strings.ToLower(value))
	}
	order, number := pyjson.Compare(value, big.NewInt(0))
	return number && order != 0
}

func untruthful(value any) bool {
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		return slices.Contains([]string{"no", "false"}, strings.ToLower(value))
	}
	order, number := pyjson.Compare(value, big.NewInt(0))
	return number && order == 0
}

// inNet says whether an address is in a network; an address alone is a network.
func inNet(a map[string]any) (bool, error) {
	subnet := pyText(a["subnet"])
	network, err := netip.ParsePrefix(subnet)
	if err != nil {
		one, err := netip.ParseAddr(subnet)
		if err != nil {
			return false, ruleFailed("invalid value: invalid IPNetwork %s", subnet)
		}
		network = netip.PrefixFrom(one, one.BitLen())
	}
	address, err := netip.ParseAddr(pyText(a["address"]))
	if err != nil {
		return false, surprise("failed to detect a valid IP address from %s", pyjson.Repr(a["address"]))
	}
	return network.Contains(address), nil
}

// oneOf says whether a value is in a list, or in a text.
func oneOf(a map[string]any) (bool, error) {
	switch values := a["values"].(type) {
	case nil:
		return false, nil
	case []any:
		return slices.ContainsFunc(values, func(v any) bool { return pyjson.Equal(v, a["value"]) }), nil
	case string:
		if text, is := a["value"].(string); is {
			return strings.Contains(values, text), nil
		}
	case *pyjson.Object:
		_, there := values.Get(pyText(a["value"]))
		return there, nil
	}
	return false, surprise("'in <string>' requires string as left operand, not %s", pyjson.TypeName(a["value"]))
}

// longestRegex bounds a regular expression.
const longestRegex = 4096

// matches says whether a regular expression fits a text, or is in it.
func matches(a map[string]any, whole bool) (bool, error) {
	regex := pyText(a["regex"])
	if whole {
		if !strings.HasSuffix(regex, "$") {
			regex += "$"
		}
		regex = fmt.Sprintf("^(?:%s)", regex)
	}
	if len(regex) > longestRegex {
		return false, ruleFailed("invalid regular expression: it is too long")
	}
	compiled, err := regexp.Compile(regex)
	if err != nil {
		return false, ruleFailed("invalid regular expression: %s", err)
	}
	return compiled.MatchString(pyjson.Str(a["value"])), nil
}
