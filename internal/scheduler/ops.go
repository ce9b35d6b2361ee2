package scheduler

// The operators of extra specs: a value that begins with one is compared, any
// other is to be equal.

import (
	"slices"
	"strconv"
	"strings"
)

// want is what an extra spec asks of a value.
type want string

// operators compare a value with the first word that follows them. Those with =
// and < are for numbers, those with s for texts.
var operators = map[string]func(value, operand string) bool{
	"=":        numbers(func(a, b float64) bool { return a >= b }),
	"==":       numbers(func(a, b float64) bool { return a == b }),
	"!=":       numbers(func(a, b float64) bool { return a != b }),
	">=":       numbers(func(a, b float64) bool { return a >= b }),
	"<=":       numbers(func(a, b float64) bool { return a <= b }),
	"s==":      func(a, b string) bool { return a == b },
	"s!=":      func(a, b string) bool { return a != b },
	"s<":       func(a, b string) bool { return a < b },
	"s<=":      func(a, b string) bool { return a <= b },
	"s>":       func(a, b string) bool { return a > b },
	"s>=":      func(a, b string) bool { return a >= b },
	"<in>":     strings.Contains,
	"<all-in>": nil, // takes all words that follow
	"<or>":     nil, // takes every second word
}

func numbers(compare func(a, b float64) bool) func(string, string) bool {
	return func(value, operand string) bool {
		a, errA := strconv.ParseFloat(strings.TrimSpace(value), 64)
		b, errB := strconv.ParseFloat(operand, 64)
		return errA == nil && errB == nil && compare(a, b)
	}
}

// holds says whether the value is what is wanted.
func (w want) holds(value string) bool {
	words := strings.Fields(string(w))
	if len(words) == 0 {
		return value == string(w)
	}
	compare, known := operators[words[0]]
	switch operands := words[1:]; {
	case !known:
		return value == string(w)
	case words[0] == "<or>":
		for i := 0; i < len(operands); i += 2 {
			if operands[i] == value {
				return true
			}
		}
		return false
	case len(operands) == 0:
		return false
	case words[0] == "<all-in>":
		return !slices.ContainsFunc(operands, func(o string) bool { return !strings.Contains(value, o) })
	default:
		return compare(value, operands[0])
	}
}
