package hot

// Functions that look things up: parameters, resources, attributes, files,
// mappings, and what surrounds the stack.

import (
	"strings"

	"holdfast.dev/internal/hot/value"
)

var getParam = &function{result: func(e *evaluation, c *call) (any, error) {
	args, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	if !value.Truth(args) {
		return nil, value.Errorf(ValueError, `Function "%s" must have arguments`, c.name)
	}
	var name any = args
	var path []any
	switch list := args.(type) {
	case string:
	case []any:
		name, path = list[0], list[1:]
	default:
		return nil, value.Errorf(TypeError, `Argument to "%s" must be string or list`, c.name)
	}
	text, ok := name.(string)
	if !ok {
		return nil, value.Errorf(TypeError, `Parameter name in "%s" must be string`, c.name)
	}
	v, err := e.stack.Parameters.Value(text)
	if err != nil {
		return nil, err
	}
	for _, key := range path {
		if v, ok = step(v, key, true); !ok {
			return "", nil
		}
	}
	return v, nil
}}

// badReference is a reference to something that isn't there.
func badReference(name any, where string) *Error {
	return failf(InvalidReference, `The specified reference "%s" (in %s) is incorrect.`, value.Str(name), where)
}

// resource is the enabled resource of a name.
func (e *evaluation) resource(name any) (string, error) {
	if text, ok := name.(string); ok && e.stack.Resource(text) != nil {
		return text, nil
	}
	return "", badReference(name, "unknown")
}

func itself(c *call) (any, []any) { return c.args, nil }

var getResource = &function{refers: itself, result: referenceID}

func referenceID(e *evaluation, c *call) (any, error) {
	arg, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	name, err := e.resource(arg)
	if err != nil {
		return nil, err
	}
	v, err := e.attrs.Reference(name)
	return value.Of(v), err
}

// ref is a resource if the template has one of the name, else a parameter.
var ref = &function{pick: func(s *Stack, args any) *function {
	if name, ok := args.(string); ok && s.declared[name] {
		return getResource
	}
	return paramRef
}}

var paramRef = &function{result: func(e *evaluation, c *call) (any, error) {
	name, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	text, ok := name.(string)
	if !ok || !e.stack.Parameters.Has(text) {
		return nil, badReference(name, "unknown")
	}
	return e.stack.Parameters.Value(text)
}}

// attributeArgs are the arguments of get_attr: resource, attribute and path.
func attributeArgs(c *call) (resource any, attribute []any) {
	list, ok := c.args.([]any)
	if !ok || len(list) == 0 {
		return nil, nil
	}
	return list[0], list[1:]
}

func checkAttribute(c *call) error {
	list, ok := c.args.([]any)
	if !ok {
		return value.Errorf(TypeError, `Argument to "%s" must be a list`, c.name)
	}
	if len(list) < 2 {
		return value.Errorf(ValueError, `Arguments to "%s" must be of the form [resource_name, attribute, (path), ...]`, c.name)
	}
	return nil
}

func validateAttribute(s *Stack, c *call, schemas Schemas) error {
	e := s.evaluation(nil)
	target, attribute := attributeArgs(c)
	resolved, err := e.resolve(target)
	if err != nil {
		return err
	}
	name, err := e.resource(resolved)
	if err != nil || len(attribute) == 0 || schemas == nil {
		return err
	}
	key, err := e.resolve(attribute[0])
	if err != nil {
		return err
	}
	if text, ok := key.(string); !ok || !schemas.HasAttribute(s.Resource(name), text) {
		return failf(InvalidAttribute, "The Referenced Attribute (%s %s) is incorrect.", value.Str(resolved), value.Str(key))
	}
	return nil
}

// attribute works out a get_attr: what it refers to, whether that is ready, and
// the value, with the path left to the resource or followed here.
func attribute(pathToResource bool) func(e *evaluation, c *call) (any, error) {
	return func(e *evaluation, c *call) (any, error) {
		target, rest := attributeArgs(c)
		resolved, err := e.resolve(target)
		if err != nil {
			return nil, err
		}
		name, err := e.resource(resolved)
		if err != nil {
			return nil, err
		}
		action, status := e.attrs.State(name)
		if len(rest) == 0 {
			if !started[action] || action == "ROLLBACK" || status == "FAILED" {
				return nil, nil
			}
			v, err := e.attrs.All(name)
			return value.Of(v), err
		}
		parts, err := e.resolve(rest)
		if err != nil || !started[action] {
			return nil, err
		}
		list := parts.([]any)
		text := value.Str(list[0])
		if pathToResource {
			v, err := e.attrs.Attribute(name, text, list[1:])
			return value.Of(v), err
		}
		v, err := e.attrs.Attribute(name, text, nil)
		return Select(value.Of(v), list[1:]), err
	}
}

// started are the actions after whose begin a resource has attributes.
var started = map[string]bool{"CREATE": true, "ADOPT": true, "SUSPEND": true, "RESUME": true, "UPDATE": true, "ROLLBACK": true,
	"SNAPSHOT": true, "CHECK": true}

var (
	getAttThenSelect = &function{check: checkAttribute, refers: attributeArgs, validate: validateAttribute, result: attribute(false)}
	getAtt           = &function{check: checkAttribute, refers: attributeArgs, validate: validateAttribute, result: attribute(true)}
	getAttAll        = &function{refers: attributeArgs, validate: validateAttribute, result: attribute(true), check: func(c *call) error {
		list, ok := c.args.([]any)
		switch text, isText := c.args.(string); {
		case !isCall(c.args) && !value.Truth(c.args):
			return value.Errorf(ValueError, `Arguments to "%s" can be of the next forms: [resource_name] or `+
				`[resource_name, attribute, (path), ...]`, c.name)
		case isText && len([]rune(text)) == 1:
			c.args = []any{text}
		case !ok:
			return value.Errorf(TypeError, `Argument to "%s" must be a list`, c.name)
		case len(list) > 1:
			return checkAttribute(c)
		}
		return nil
	}}
	cfnGetAtt = &function{refers: attributeArgs, validate: validateAttribute, result: attribute(false), check: func(c *call) error {
		list, err := unpack(c.args, 2)
		if Class(err) == ValueError {
			return value.Errorf(ValueError, `Arguments to "%s" must be of the form [resource_name, attribute]`, c.name)
		}
		if err == nil {
			c.args = list
		}
		return err
	}}
)

var getFile = &function{result: func(e *evaluation, c *call) (any, error) {
	arg, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	name, ok := arg.(string)
	if !ok {
		return nil, value.Errorf(TypeError, `Argument to "%s" must be a string`, c.name)
	}
	text, there := e.stack.files[name]
	if !there {
		return nil, value.Errorf(ValueError, `No content found in the "files" section for %s path: %s`, c.name, name)
	}
	return text, e.spend(0, len(text))
}}

var findInMap = &function{
	check: func(c *call) error {
		list, err := unpack(c.args, 3)
		if Class(err) == ValueError {
			return value.Errorf(KeyError, "%s", err)
		}
		if err == nil {
			c.args = list
		}
		return err
	},
	result: func(e *evaluation, c *call) (any, error) {
		args, err := e.resolve(c.args)
		if err != nil {
			return nil, err
		}
		var v any = e.stack.mappings
		for _, key := range args.([]any) {
			m, ok := v.(*value.Map)
			if !ok {
				return nil, value.Errorf(TypeError, "'%s' object is not subscriptable", value.TypeName(v))
			}
			if v, ok = m.Get(key); !ok {
				return nil, value.Errorf(KeyError, "%s", value.Repr(key))
			}
		}
		return v, nil
	},
}

// getAZs gives the zones of the user, whatever it is given.
var getAZs = &function{zones: true, result: func(e *evaluation, c *call) (any, error) {
	if e.stack.zones == nil {
		return []any{"nova"}, nil
	}
	return value.Of(e.stack.zones), nil
}}

// facadeOf makes resource_facade with the names it has in a format.
func facadeOf(metadata, deletionPolicy, updatePolicy string) *function {
	names := []string{metadata, deletionPolicy, updatePolicy}
	return &function{
		check: func(c *call) error {
			for _, name := range names {
				if c.args == name {
					return nil
				}
			}
			return value.Errorf(ValueError, `Incorrect arguments to "%s" should be one of: %s`, c.name, strings.Join(names, ", "))
		},
		result: func(e *evaluation, c *call) (any, error) {
			facade := e.stack.facade
			switch {
			case facade == nil && c.args == metadata:
				return nil, value.Errorf("AttributeError", "'NoneType' object has no attribute 'metadata_get'")
			case facade == nil:
				return nil, value.Errorf("AttributeError", "'NoneType' object has no attribute 't'")
			case c.args == deletionPolicy:
				return facade.DeletionPolicy, nil
			}
			part := facade.Metadata
			if c.args == updatePolicy {
				part = facade.UpdatePolicy
			}
			return part()
		},
	}
}

func orEmpty(m *value.Map) *value.Map {
	if m == nil {
		return &value.Map{}
	}
	return m
}
