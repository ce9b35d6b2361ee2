package scheduler

// The hint "query": a condition on a host in JSON, such as
// ["and", [">=", "$free_ram_mb", 1024], ["=", "$hypervisor_type", "QEMU"]].

import (
	"encoding/json"
	"reflect"
	"slices"

	"holdfast.dev/internal/faults"
)

// Bounds of a query: how deep it may be and how many parts it may have.
const (
	maxQueryDepth = 16
	maxQueryParts = 256
)

// Query is a condition that was read and found good.
type Query struct{ root []any }

// ParseQuery reads the text of the hint: faults.Invalid says what is wrong with it.
func ParseQuery(text string) (*Query, error) {
	var root []any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return nil, faults.New(faults.Invalid, "InvalidQuery", "the scheduler hint query is no list in JSON: %v", err)
	}
	parts := 0
	if err := checkQuery(root, 1, &parts); err != nil {
		return nil, err
	}
	return &Query{root}, nil
}

func checkQuery(list []any, depth int, parts *int) error {
	if *parts += len(list); depth > maxQueryDepth || *parts > maxQueryParts {
		return faults.New(faults.Invalid, "InvalidQuery", "the scheduler hint query is deeper than %d or has more than %d parts", maxQueryDepth, maxQueryParts)
	}
	if len(list) == 0 {
		return nil
	}
	name, ok := list[0].(string)
	if _, known := queryOperators[name]; !ok || !known {
		return faults.New(faults.Invalid, "InvalidQuery", "the scheduler hint query has no operator %v", list[0])
	}
	for _, arg := range list[1:] {
		if inner, ok := arg.([]any); ok {
			if err := checkQuery(inner, depth+1, parts); err != nil {
				return err
			}
		}
	}
	return nil
}

func matchesQuery(r *Request) func(*Host) bool {
	if r.Query == nil {
		return nil
	}
	return func(h *Host) bool { return truth(r.Query.eval(r.Query.root, h)) }
}

// eval gives what a list comes to; an empty one is true. Arguments that come to
// nothing (a property that the host lacks) are left out.
func (q *Query) eval(list []any, h *Host) any {
	if len(list) == 0 {
		return true
	}
	var args []any
	for _, arg := range list[1:] {
		if value := q.argument(arg, h); value != nil {
			args = append(args, value)
		}
	}
	name, _ := list[0].(string)
	return queryOperators[name](args)
}

func (q *Query) argument(arg any, h *Host) any {
	switch a := arg.(type) {
	case []any:
		return q.eval(a, h)
	case string:
		if a == "" {
			return nil
		}
		if a[0] == '$' {
			value, _ := h.property(a[1:], ".")
			return number(value)
		}
	}
	return arg
}

// number makes one type of all numbers.
func number(value any) any {
	switch n := value.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	}
	return value
}

// queryOperators get arguments that are bool, float64, string, list or object.
var queryOperators = map[string]func(args []any) any{
	"=":   againstEach(reflect.DeepEqual),
	"<":   againstEach(less),
	">":   againstEach(func(a, b any) bool { return less(b, a) }),
	"<=":  againstEach(func(a, b any) bool { return less(a, b) || reflect.DeepEqual(a, b) }),
	">=":  againstEach(func(a, b any) bool { return less(b, a) || reflect.DeepEqual(a, b) }),
	"in":  isAmong,
	"not": func(args []any) any { return not(args) },
	"or":  func(args []any) any { return slices.ContainsFunc(args, truth) },
	"and": func(args []any) any { return !slices.ContainsFunc(args, falsehood) },
}

// againstEach compares the first argument with all others; it takes two at least.
func againstEach(holds func(a, b any) bool) func([]any) any {
	return func(args []any) any {
		for i := 1; i < len(args); i++ {
			if !holds(args[0], args[i]) {
				return false
			}
		}
		return len(args) > 1
	}
}

// less compares two numbers or two texts; nothing else has an order.
func less(a, b any) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && x < y
	case string:
		y, ok := b.(string)
		return ok && x < y
	}
	return false
}

func isAmong(args []any) any {
	return len(args) > 1 && slices.ContainsFunc(args[1:], func(a any) bool { return reflect.DeepEqual(a, args[0]) })
}

// not turns each argument over; the list is true if one of its parts is.
func not(args []any) []any {
	turned := make([]any, len(args))
	for i, a := range args {
		turned[i] = falsehood(a)
	}
	return turned
}

// truth is Python's, since the hint was defined by it, but for a list, which is
// true if a part of it is.
func truth(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return slices.ContainsFunc(v, truth)
	case map[string]any:
		return len(v) > 0
	}
	return true
}

func falsehood(value any) bool { return !truth(value) }
