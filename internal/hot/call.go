package hot

// Functions in a template: found, checked, and worked out.
//
// A map with one key that the version knows as a function is a call; any other
// map is data. Calls are parsed from the inside out, with one exception: the
// branch that "if" doesn't take is never looked at.

import (
	"strconv"

	"holdfast.dev/internal/hot/value"
)

// call is a function with its parsed arguments: values with calls in them.
type call struct {
	fn   *function
	name string
	args any
	// path and line say where the call stands.
	path string
	line int
	// chosen is what a macro stands for.
	chosen any
}

// function is what a name means in one or more versions. What is nil isn't
// there: most functions have no check of their own at one of the stages.
type function struct {
	// pick says which other function this one is, for its arguments.
	pick func(s *Stack, args any) *function
	// check looks at the arguments as they are parsed.
	check func(c *call) error
	// choose makes the function a macro: it gets the arguments unparsed and
	// says which part of them it stands for.
	choose func(s *Stack, c *call) (any, error)
	// validate looks at the arguments when the template is validated.
	validate func(s *Stack, c *call, schemas Schemas) error
	// result works the function out.
	result func(e *evaluation, c *call) (any, error)
	// refers gives the resource that the function refers to, and the attribute
	// ("" if it's the resource itself); nil if it doesn't refer to any.
	refers func(c *call) (resource any, attribute []any)
	// zones says that the result has the zones of the user.
	zones bool
}

// omitted is the value of an "if" without a third argument: what it stands in
// loses the entry.
type omitted struct{}

// table is the functions that may stand in one place of a template.
type table map[string]*function

// parse finds the calls in a snippet.
func (s *Stack) parse(functions table, snippet any, path string, line int) (any, error) {
	switch x := snippet.(type) {
	case *value.Map:
		if x.Len() == 1 {
			key, args := x.At(0)
			name, isText := key.(string)
			if fn := functions[name]; isText && fn != nil {
				return s.parseCall(functions, fn, name, args, join(path, name), x.LineOf(key))
			}
		}
		m := &value.Map{Line: x.Line}
		for i := range x.Len() {
			key, item := x.At(i)
			at := x.LineOf(key)
			v, err := s.parse(functions, item, path+"."+value.Str(key), at)
			if err != nil {
				return nil, err
			}
			m.SetAt(key, v, at)
		}
		return m, nil
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			v, err := s.parse(functions, item, path+"["+strconv.Itoa(i)+"]", line)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	}
	return snippet, nil
}

func (s *Stack) parseCall(functions table, fn *function, name string, args any, path string, line int) (any, error) {
	c := &call{fn: fn, name: name, args: args, path: path, line: line}
	if fn.choose != nil {
		branch, err := fn.choose(s, c)
		if err != nil {
			return nil, refused(c, err)
		}
		c.chosen, err = s.parse(functions, branch, path, line)
		return c, err
	}
	parsed, err := s.parse(functions, args, path, line)
	if err != nil {
		return nil, err
	}
	c.args = parsed
	if fn.pick != nil {
		fn = fn.pick(s, parsed)
		c.fn = fn
	}
	if fn.check != nil {
		if err := fn.check(c); err != nil {
			return nil, refused(c, err)
		}
	}
	s.asksZones = s.asksZones || fn.zones
	return c, nil
}

// refused is why a call can't be parsed. A KeyError has the repr of its text
// for a text, as in the original's language.
func refused(c *call, err error) error {
	e := asError(err)
	switch e.Class {
	case ValueError, TypeError:
		return under(c.path, c.line, err)
	case KeyError:
		return under(c.path, c.line, failf(KeyError, "%s", value.Repr(e.Message)))
	}
	if e.Class == ValidationFailed {
		return located(c, e)
	}
	// A condition of a macro has no path but the macro's name.
	return located(c, &Error{Class: e.Class, About: e.About, Line: e.Line, Message: e.Message})
}

// validate checks every call in a parsed snippet.
func (s *Stack) validate(parsed any, schemas Schemas) error {
	switch x := parsed.(type) {
	case *call:
		inner := x.args
		if x.fn.choose != nil {
			inner = x.chosen
		}
		if err := s.validate(inner, schemas); err != nil {
			return err
		}
		if x.fn.validate != nil {
			if err := x.fn.validate(s, x, schemas); err != nil {
				return under(x.path, x.line, err)
			}
		}
	case *value.Map:
		for i := range x.Len() {
			_, item := x.At(i)
			if err := s.validate(item, schemas); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range x {
			if err := s.validate(item, schemas); err != nil {
				return err
			}
		}
	}
	return nil
}

// A resolution may take this much: values made, and bytes of text made.
const (
	maxSteps = 500_000
	maxText  = 16 << 20
)

// evaluation is one resolution of a snippet.
type evaluation struct {
	stack *Stack
	attrs Attributes
	steps int
	text  int
}

// spend counts values and text that a function is about to make.
func (e *evaluation) spend(steps, text int) error {
	e.steps, e.text = e.steps+steps, e.text+text
	switch {
	case e.steps > maxSteps:
		return failf(LimitExceeded, "Request limit exceeded: The functions of the template take more than %d steps", maxSteps)
	case e.text > maxText:
		return failf(LimitExceeded, "Request limit exceeded: The functions of the template make more than %d bytes of text", maxText)
	}
	return nil
}

// take spends what a function gives, however often it stands in that: what is one value
// in memory is many once it is written down.
func (e *evaluation) take(v any) error {
	text := 0
	switch x := v.(type) {
	case string:
		text = len(x)
	case *value.Map:
		for i := range x.Len() {
			_, item := x.At(i)
			if err := e.take(item); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range x {
			if err := e.take(item); err != nil {
				return err
			}
		}
	}
	return e.spend(1, text)
}

// resolve is a parsed snippet with its calls worked out.
func (e *evaluation) resolve(parsed any) (any, error) {
	v, err := e.nullable(parsed)
	if _, none := v.(omitted); none {
		return nil, err
	}
	return v, err
}

func (e *evaluation) nullable(parsed any) (any, error) {
	if err := e.spend(1, 0); err != nil {
		return nil, err
	}
	switch x := parsed.(type) {
	case *call:
		if x.fn.choose != nil {
			return e.nullable(x.chosen)
		}
		v, err := x.fn.result(e, x)
		if err == nil {
			err = e.take(v)
		}
		if err != nil {
			return nil, located(x, err)
		}
		return v, nil
	case *value.Map:
		m, _, err := e.entries(x)
		return m, err
	case []any:
		list := make([]any, 0, len(x))
		for _, item := range x {
			v, err := e.nullable(item)
			if err != nil {
				return nil, err
			}
			if _, none := v.(omitted); !none {
				list = append(list, v)
			}
		}
		return list, nil
	}
	return parsed, nil
}

// entries is a map with the calls in its values worked out; or which of them can't be,
// and why.
func (e *evaluation) entries(parsed *value.Map) (m *value.Map, failed any, err error) {
	m = &value.Map{Line: parsed.Line}
	for i := range parsed.Len() {
		key, item := parsed.At(i)
		v, err := e.nullable(item)
		if err != nil {
			return nil, key, err
		}
		if _, none := v.(omitted); !none {
			m.Set(key, v)
		}
	}
	return m, nil, nil
}

// located is an error with the place of the innermost call. What is raised as a failed
// validation has said where already.
func located(c *call, err error) error {
	own := *asError(err)
	if own.Line == 0 {
		own.Line = c.line
	}
	if own.Path == "" && own.Class != ValidationFailed {
		own.Path = c.path
	}
	return &own
}

// walk visits every call of a parsed snippet, the inner ones first, with the
// path of the place where it stands.
func walk(parsed any, path string, visit func(c *call, path string) error) error {
	switch x := parsed.(type) {
	case *call:
		inner := x.args
		if x.fn.choose != nil {
			inner = x.chosen
		}
		if err := walk(inner, path+"."+x.name, visit); err != nil {
			return err
		}
		return visit(x, path)
	case *value.Map:
		for i := range x.Len() {
			key, item := x.At(i)
			if err := walk(item, path+"."+value.Str(key), visit); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range x {
			if err := walk(item, path+"["+strconv.Itoa(i)+"]", visit); err != nil {
				return err
			}
		}
	}
	return nil
}
