package hot

// What a plain scalar of YAML is, by the rules of YAML 1.1 that the original's
// reader has: yes and off are booleans, 010 is eight, 1:30 is ninety, 1e3 is
// text; and dates stay text.

import (
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/hot/value"
)

var (
	intText = regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|` +
		`[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	floatText = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

	booleans = map[string]bool{
		"yes": true, "Yes": true, "YES": true, "true": true, "True": true, "TRUE": true, "on": true, "On": true, "ON": true,
		"no": false, "No": false, "NO": false, "false": false, "False": false, "FALSE": false, "off": false, "Off": false, "OFF": false,
	}
	nulls = map[string]bool{"": true, "~": true, "null": true, "Null": true, "NULL": true}
)

// scalar is the value of a scalar; tag is the one written before it, if any.
func scalar(n *yaml.Node, tag string) (any, error) {
	if strings.ContainsRune(n.Value, 0) {
		return nil, &unreadable{n.Line, "special characters are not allowed: #x0000"}
	}
	switch tag {
	case "!!str", "!!timestamp", "!":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		if b, ok := booleans[n.Value]; ok {
			return b, nil
		}
		return nil, notA(n, "boolean")
	case "!!int":
		return yamlInt(n)
	case "!!float":
		return yamlFloat(n)
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			return nil, notA(n, "base64 text")
		}
		return string(data), nil
	case "":
		return plain(n)
	}
	return nil, unknownTag(n)
}

// plain is the value of a scalar without a tag: text if it is quoted.
func plain(n *yaml.Node) (any, error) {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value, nil
	}
	switch b, isBool := booleans[n.Value]; {
	case isBool:
		return b, nil
	case nulls[n.Value]:
		return nil, nil
	case floatText.MatchString(n.Value):
		return yamlFloat(n)
	case intText.MatchString(n.Value):
		return yamlInt(n)
	case n.Value == "=":
		return nil, &unreadable{n.Line, "could not determine a constructor for the tag 'tag:yaml.org,2002:value'"}
	}
	return n.Value, nil
}

func yamlInt(n *yaml.Node) (any, error) {
	digits, negative := strings.CutPrefix(n.Value, "-")
	digits = strings.ReplaceAll(strings.TrimPrefix(digits, "+"), "_", "")
	var i *big.Int
	ok := false
	switch {
	case digits == "0":
		i, ok = new(big.Int), true
	case strings.HasPrefix(digits, "0b"):
		i, ok = integer(digits[2:], 2)
	case strings.HasPrefix(digits, "0x"):
		i, ok = integer(digits[2:], 16)
	case strings.HasPrefix(digits, "0"):
		i, ok = integer(digits, 8)
	case strings.Contains(digits, ":"):
		i, ok = sexagesimal(digits)
	default:
		i, ok = integer(digits, 10)
	}
	if !ok {
		return nil, notA(n, "integer")
	}
	if negative {
		i.Neg(i)
	}
	return i, nil
}

// sexagesimal reads 1:30:00, of which a text of a thousand parts is no number.
func sexagesimal(digits string) (*big.Int, bool) {
	parts := strings.Split(digits, ":")
	if len(parts) > 1000 {
		return nil, false
	}
	sum := new(big.Int)
	for _, part := range parts {
		i, ok := integer(part, 10)
		if !ok {
			return nil, false
		}
		sum.Add(sum.Mul(sum, big.NewInt(60)), i)
	}
	return sum, true
}

// yamlFloat reads a float that JSON can hold.
func yamlFloat(n *yaml.Node) (any, error) {
	text := strings.ToLower(strings.ReplaceAll(n.Value, "_", ""))
	digits, negative := strings.CutPrefix(text, "-")
	digits = strings.TrimPrefix(digits, "+")
	sum := 0.0
	for part := range strings.SplitSeq(digits, ":") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return nil, notA(n, "number")
		}
		sum = sum*60 + f
	}
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return nil, notA(n, "finite number")
	}
	if negative {
		sum = -sum
	}
	return sum, nil
}

func notA(n *yaml.Node, what string) error {
	return &unreadable{n.Line, value.Short(n.Value, 40) + " is not a " + what}
}

func unknownTag(n *yaml.Node) error {
	return &unreadable{n.Line, "could not determine a constructor for the tag " + value.Short(n.Tag, 100)}
}
