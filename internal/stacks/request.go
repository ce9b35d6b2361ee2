package stacks

// Requests: what a user sends, made a definition.

import (
	"fmt"
	"maps"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// Request is the part of a body that says what a stack is to be.
type Request struct {
	Template    *hot.Template
	Environment *hot.Environment
	Files       map[string]string

	fetch Fetcher
}

// ParseRequest reads the part of a body that says what a stack is to be:
// template or template_url, environment, environment_files, files and parameters.
// Errors: Invalid.
func ParseRequest(body *value.Map, fetch Fetcher) (*Request, error) {
	r := &Request{fetch: fetch}
	var err error
	if r.Template, err = template(body, fetch); err != nil {
		return nil, err
	}
	if r.Files, err = files(body); err != nil {
		return nil, err
	}
	if r.Environment, err = environment(body); err != nil {
		return nil, err
	}
	if r.Environment, err = r.merged(body); err != nil {
		return nil, err
	}
	parameters, err := section(body, "parameters")
	if err != nil {
		return nil, err
	}
	r.Environment = r.Environment.WithParameters(parameters)
	return r, nil
}

// ParsePatch reads a body that says what of a stack is to change.
// Errors: Invalid.
func ParsePatch(body *value.Map, now *Definition, fetch Fetcher) (*Request, error) {
	r := &Request{Template: now.Template, fetch: fetch}
	if says(body, "template") || says(body, "template_url") {
		var err error
		if r.Template, err = template(body, fetch); err != nil {
			return nil, err
		}
	}
	more, err := files(body)
	if err != nil {
		return nil, err
	}
	r.Files = maps.Clone(now.Files)
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	maps.Copy(r.Files, more)
	if r.Environment, err = environment(body); err != nil {
		return nil, err
	}
	if r.Environment, err = r.merged(body); err != nil {
		return nil, err
	}
	given, _ := body.Get("clear_parameters")
	cleared, ok := given.([]any)
	if given != nil && !ok {
		return nil, bad("clear_parameters must be a list")
	}
	before := *now.Environment
	before.Parameters = before.Parameters.Without(cleared...)
	if r.Environment, err = before.With(r.Environment); err != nil {
		return nil, err
	}
	parameters, err := section(body, "parameters")
	if err != nil {
		return nil, err
	}
	r.Environment = r.Environment.WithParameters(parameters)
	return r, nil
}

// Define is what the request asks for, of the stack that who is.
func (r *Request) Define(who hot.Identity, types *resourcetype.Registry) (*Definition, error) {
	return define(r.Template, r.Environment, hot.Surroundings{Files: r.Files}, who, types, r.fetch)
}

// bad is the original's answer to a body that is not as it must be.
func bad(format string, args ...any) error {
	return faults.New(faults.Invalid, "HTTPBadRequest", "%s", fmt.Sprintf(format, args...))
}

// unread is the original's answer to a text that can't be read.
func unread(what string, err error) error {
	if err == nil || hot.Class(err) == hot.LimitExceeded {
		return err
	}
	return bad("%s not in valid format: %s", what, err)
}

func template(body *value.Map, fetch Fetcher) (*hot.Template, error) {
	given, _ := body.Get("template")
	switch t := given.(type) {
	case *value.Map:
		text, err := t.MarshalJSON()
		if err != nil {
			return nil, bad("Template not valid: %v", err)
		}
		if len(text) > hot.MaxTemplate {
			return nil, &hot.Error{Class: hot.LimitExceeded, Message: fmt.Sprintf(
				"Request limit exceeded: Template size (%d bytes) exceeds maximum allowed size (%d bytes).", len(text), hot.MaxTemplate)}
		}
		return hot.New(t)
	case string:
		parsed, err := hot.Parse(t, "", hot.Limits{})
		return parsed, unread("Template", err)
	}
	if url, _ := body.Get("template_url"); url != nil {
		return fetched(url, fetch)
	}
	return nil, bad("No template specified")
}

func files(body *value.Map) (map[string]string, error) {
	m, err := section(body, "files")
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, m.Len())
	for i := range m.Len() {
		name, content := m.At(i)
		all[value.Str(name)] = value.Str(content)
	}
	return all, nil
}

func environment(body *value.Map) (*hot.Environment, error) {
	given, _ := body.Get("environment")
	switch e := given.(type) {
	case nil:
		return hot.NewEnvironment(&value.Map{})
	case *value.Map:
		env, err := hot.NewEnvironment(e)
		return env, unread("Environment", err)
	case string:
		env, err := hot.ParseEnvironment(e)
		return env, unread("Environment", err)
	}
	return nil, bad("The environment is not a valid YAML mapping data type.")
}

// merged is the environment with those of the files that the request names.
func (r *Request) merged(body *value.Map) (*hot.Environment, error) {
	given, _ := body.Get("environment_files")
	list, ok := given.([]any)
	if given != nil && !ok {
		return nil, bad("environment_files must be a list")
	}
	if len(list) == 0 {
		return r.Environment, nil
	}
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = value.Str(name)
	}
	schemas, err := r.Template.AllSchemas(r.Files)
	if err != nil {
		return nil, err
	}
	return r.Environment.MergeFiles(names, r.Files, schemas)
}

// says tells whether a body has a value of a name: clients send null for what they
// don't mean.
func says(body *value.Map, name string) bool {
	v, _ := body.Get(name)
	return v != nil
}

// section is a map in a body; one that isn't there is empty.
func section(body *value.Map, name string) (*value.Map, error) {
	given, _ := body.Get(name)
	if given == nil {
		return &value.Map{}, nil
	}
	m, ok := given.(*value.Map)
	if !ok {
		return nil, bad("%s must be a map", name)
	}
	return m, nil
}
