package hot

// Functions of conditions, the choice between values, and what is refused.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
)

// removed is a function that an earlier version had.
var removed = &function{
	validate: func(s *Stack, c *call, _ Schemas) error {
		return badVersion("The function " + c.name + " is not supported in this version of HOT.")
	},
	result: func(e *evaluation, c *call) (any, error) {
		args, err := e.resolve(c.args)
		return value.NewMap(c.name, args), err
	},
}

// notHere is a function that may not stand in a condition.
var notHere = &function{check: func(c *call) error {
	return value.Errorf(ValueError, `The function "%s" is invalid in this context`, c.name)
}}

var equals = &function{
	check: func(c *call) error {
		if list, ok := c.args.([]any); !ok || len(list) != 2 {
			return value.Errorf(ValueError, `Arguments to "%s" must be of the form: [value_1, value_2]`, c.name)
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		list := c.args.([]any)
		a, err := e.resolve(list[0])
		if err != nil {
			return nil, err
		}
		b, err := e.resolve(list[1])
		return value.Equal(a, b), err
	},
}

func checkConditions(c *call) error {
	list, ok := c.args.([]any)
	switch {
	case !ok:
		return value.Errorf(ValueError, `Arguments to "%s" must be a list of conditions`, c.name)
	case len(list) < 2:
		return value.Errorf(ValueError, `The minimum number of condition arguments to "%s" is 2.`, c.name)
	}
	return nil
}

// decide works out and or or: the first operand that is enough decides.
func decide(enough bool) func(e *evaluation, c *call) (any, error) {
	return func(e *evaluation, c *call) (any, error) {
		args, err := e.resolve(c.args)
		if err != nil {
			return nil, err
		}
		for _, arg := range args.([]any) {
			enabled, err := e.stack.conditions.enabled(arg)
			if err != nil {
				return nil, err
			}
			if enabled == enough {
				return enough, nil
			}
		}
		return !enough, nil
	}
}

func negate(e *evaluation, c *call) (any, error) {
	arg, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	enabled, err := e.stack.conditions.enabled(arg)
	return !enabled, err
}

var (
	and = &function{check: checkConditions, result: decide(false)}
	or  = &function{check: checkConditions, result: decide(true)}
	not = &function{result: negate, check: func(c *call) error {
		if c.args == nil {
			return value.Errorf(ValueError, `Argument to "%s" must be a condition`, c.name)
		}
		return nil
	}}
	cfnNot = &function{result: negate, check: func(c *call) error {
		list, ok := c.args.([]any)
		if !ok || len(list) != 1 {
			return value.Errorf(ValueError, `Arguments to "%s" must be of the form: [condition]`, c.name)
		}
		c.args = list[0]
		return nil
	}}
)

// choice makes an if that takes these numbers of arguments.
func choice(counts ...int) *function {
	return &function{choose: func(s *Stack, c *call) (any, error) {
		list, ok := c.args.([]any)
		if !ok || !slices.Contains(counts, len(list)) {
			return nil, value.Errorf(ValueError, `Arguments to "%s" must be of the form: `+
				`[condition_name, value_if_true, value_if_false]`, c.name)
		}
		condition, err := s.parse(s.Template.Version.inConditions, list[0], c.name, c.line)
		if err != nil {
			return nil, err
		}
		v, err := s.evaluation(nil).resolve(condition)
		if err != nil {
			return nil, err
		}
		enabled, err := s.conditions.enabled(v)
		switch {
		case err != nil:
			return nil, err
		case enabled:
			return list[1], nil
		case len(list) == 2:
			return omitted{}, nil
		}
		return list[2], nil
	}}
}

var (
	ifFunction = choice(3)
	ifNullable = choice(2, 3)
)
