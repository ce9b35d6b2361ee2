package inspection

// Rules: what operators have written that is to be done with what was found. Each is
// carried out if its conditions hold, those of higher priority first.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// Rule is one of them.
type Rule struct {
	UUID string
	// Sensitive rules may see secrets, if the others may not.
	Sensitive           bool
	Conditions, Actions []Operation
}

// Operation is a condition, or an action: what it is and what it is told.
type Operation struct {
	Op string
	// Args are an object, or a list in the order of its arguments.
	Args any
	// Loop has it done for each of a list, or once for an object; nil does it once.
	Loop any
	// Multiple says how many of a condition's loop have to hold.
	Multiple string
}

// ReadOperations reads a list of them as it is kept.
func ReadOperations(text []byte) ([]Operation, error) {
	value, _, err := pyjson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("an inspection rule: %w", err)
	}
	list, _ := value.([]any)
	all := make([]Operation, len(list))
	for i, item := range list {
		o, _ := item.(*pyjson.Object)
		op, _ := o.Get("op")
		all[i].Args, _ = o.Get("args")
		all[i].Loop, _ = o.Get("loop")
		multiple, _ := o.Get("multiple")
		all[i].Op, all[i].Multiple = pyText(op), pyText(multiple)
	}
	return all, nil
}

// Subject is a node while rules are carried out on it.
type Subject struct {
	UUID string
	// Node is its row as clients know it, its secrets in place, and its traits; Fields are
	// those that rules may change. Ports are its ports' rows, by their ids.
	Node       *pyjson.Object
	Fields     []string
	Ports      map[string]*pyjson.Object
	PortFields []string
	// Inventory and Plugin are what was found.
	Inventory, Plugin *pyjson.Object
	// Log writes what a rule says, and Call asks what a rule asks.
	Log  func(level, text string)
	Call func(context.Context, Call) error
}

// Call is a request that a rule has made.
type Call struct {
	URL     string
	Headers map[string]string
	// Timeout and Backoff are in seconds; Retries are how often it is made again.
	Timeout, Backoff float64
	Retries          int
}

// MaskSecrets says which rules see secrets of what was found.
type MaskSecrets string

const (
	MaskAlways    MaskSecrets = "always"
	MaskNever     MaskSecrets = "never"
	MaskSensitive MaskSecrets = "sensitive"
)

// masked says whether a rule sees no secrets.
func (m MaskSecrets) masked(r Rule) bool {
	return m == MaskAlways || m == "" || m == MaskSensitive && !r.Sensitive
}

// Carry has rules, in their order, be carried out on a node. Errors: Invalid in the
// original's words, one says that the inspection fails, or can't be carried out.
func Carry(ctx context.Context, rules []Rule, s *Subject, mask MaskSecrets) error {
	for _, rule := range rules {
		c := &carrier{Subject: s, ctx: ctx, masked: mask.masked(rule)}
		fits, err := c.all(rule.Conditions)
		for _, action := range rule.Actions {
			if err == nil && fits {
				err = c.act(action)
			}
		}
		if err != nil {
			return told(err, rule, s)
		}
	}
	return nil
}

// told is what the user reads of a rule that failed: what the original hadn't meant to
// happen is told with the rule.
func told(err error, rule Rule, s *Subject) error {
	if f := faults.As(err); f.Kind == faults.Invalid && f.Code == unexpected {
		return faults.New(faults.Invalid, "IronicException", "Failed to apply rule %s to node %s: %s", rule.UUID, s.UUID, f.Message)
	}
	return err
}

// unexpected is the code of what Python would raise.
const unexpected = "unexpected"

func surprise(format string, args ...any) error {
	return faults.New(faults.Invalid, unexpected, format, args...)
}

func ruleFailed(format string, args ...any) error {
	return faults.New(faults.Invalid, "InspectionRuleExecutionFailure", "Inspection rule execution failed. Reason: "+format, args...)
}

func actionFailed(format string, args ...any) error {
	return faults.New(faults.Invalid, "RuleActionExecutionFailure", "Inspection rule action execution failed. Reason: "+format, args...)
}

// carrier carries a rule out.
type carrier struct {
	*Subject
	ctx    context.Context
	masked bool
}

// all says whether all conditions hold.
func (c *carrier) all(conditions []Operation) (bool, error) {
	for _, o := range conditions {
		holds, err := c.condition(o)
		if err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

// condition says whether one holds, for as many of its loop as it says.
func (c *carrier) condition(o Operation) (bool, error) {
	loop, many := o.Loop.([]any)
	if object, is := o.Loop.(*pyjson.Object); is && object.Len() > 0 {
		return c.check(o, object)
	}
	if !many || len(loop) == 0 {
		return c.check(o, nil)
	}
	var results []bool
	for _, item := range loop {
		holds, err := c.check(o, item)
		if err != nil {
			return false, err
		}
		if results = append(results, holds); o.Multiple == "first" && holds {
			return true, nil
		}
	}
	switch o.Multiple {
	case "all":
		return !slices.Contains(results, false), nil
	case "first":
		return results[0], nil
	case "last":
		return results[len(results)-1], nil
	}
	return slices.Contains(results, true), nil
}

// check says whether a condition holds for an item of its loop; nil for none.
func (c *carrier) check(o Operation, item any) (bool, error) {
	name := strings.TrimSpace(o.Op)
	plain := strings.TrimSpace(strings.TrimPrefix(name, "!"))
	operator, known := operators[plain]
	if !known {
		return false, surprise("Unsupported operator: '%s'.", plain)
	}
	args, err := c.arguments(operator.takes, o.Args, item, plain == "is-empty")
	if err != nil {
		return false, err
	}
	if item != nil && slices.Contains(operator.takes.also, "force_strings") {
		args["force_strings"] = true
	}
	holds, err := operator.holds(args)
	return holds != (plain != name), err
}

// act does an action, for each item of its loop.
func (c *carrier) act(o Operation) error {
	items := []any{nil}
	switch loop := o.Loop.(type) {
	case []any:
		if len(loop) > 0 {
			items = loop
		}
	case *pyjson.Object:
		if loop.Len() > 0 {
			items = []any{loop}
		}
	}
	action, known := actions[o.Op]
	if !known {
		return surprise("Unsupported action: '%s'.", o.Op)
	}
	for _, item := range items {
		args, err := c.arguments(action.takes, o.Args, item, false)
		if err == nil {
			err = action.does(c, args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takes are the arguments of an operation: those that it needs, in their order, those that
// it may have, and those in which places are filled in, which in a loop are all.
type takes struct{ needed, also, filled []string }

// arguments are what an operation is told, by name, with places filled in. What isn't there
// is nothing if empty says so.
func (c *carrier) arguments(t takes, given, item any, empty bool) (map[string]any, error) {
	args := map[string]any{}
	names := slices.Concat(t.needed, t.also)
	switch given := given.(type) {
	case []any:
		for i, value := range given[:min(len(given), len(names))] {
			args[names[i]] = value
		}
	case *pyjson.Object:
		for _, name := range given.Keys() {
			args[name], _ = given.Get(name)
		}
	}
	for _, name := range t.needed {
		if _, there := args[name]; !there {
			return nil, faults.New(faults.Invalid, "InspectionRuleValidationFailure", "Inspection rule validation failed. Reason: missing required argument(s): %s", name)
		}
	}
	f := c.filler(item, empty)
	for name, value := range args {
		if item != nil || slices.Contains(t.filled, name) {
			args[name] = f.fill(value)
		}
	}
	return args, nil
}
