package stacks

// Configs: what servers are set up by, and what goes in and comes out of it.

import (
	"fmt"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/orchestration"
)

// Config is what is kept sealed of a software config.
type Config struct {
	// Config is the configuration itself: a text, or a map that tools read.
	Config          any
	Inputs, Outputs []any
	Options         any
}

// Ungrouped is the group of a config that belongs to no tool.
const Ungrouped = "Heat::Ungrouped"

// configType is the type whose properties say what inputs and outputs are like.
const configType = "OS::Heat::SoftwareConfig"

// NewConfig makes a config, its inputs and outputs checked and made what they are
// kept as. Errors: Invalid.
func NewConfig(config, inputs, outputs, options any, types *resourcetype.Registry) (*Config, error) {
	c := &Config{Config: config, Options: options}
	if !value.Truth(options) {
		c.Options = &value.Map{}
	}
	var err error
	if c.Inputs, err = ports(inputs, "inputs", types); err != nil {
		return nil, err
	}
	c.Outputs, err = ports(outputs, "outputs", types)
	return c, err
}

// ports are inputs or outputs as they are kept: of their types, without what was
// not said.
func ports(given any, property string, types *resourcetype.Registry) ([]any, error) {
	made := []any{}
	if !value.Truth(given) {
		return made, nil
	}
	list, ok := given.([]any)
	if !ok {
		return nil, &hot.Error{Class: hot.TypeError, Message: "Software Config I/O Schema must be in a list"}
	}
	p, ok := types.Find(configType).Properties.Get(property)
	if !ok {
		return nil, faults.New(faults.Internal, "InternalError", "%s has no %s", configType, property)
	}
	for _, item := range list {
		m, ok := item.(*value.Map)
		if !ok {
			return nil, &hot.Error{Class: hot.TypeError, Message: "Software Config I/O Schema must be a dict"}
		}
		port, err := port(p, m)
		if err != nil {
			return nil, &hot.Error{Class: hot.ValueError, Message: err.Error()}
		}
		made = append(made, port)
	}
	return made, nil
}

func port(p *resourcetype.Property, given *value.Map) (*value.Map, error) {
	const of = "value"
	v, valued := given.Get(of)
	checked, err := p.Check([]any{said(given.Without(of))})
	if err != nil {
		return nil, err
	}
	all, _ := checked.([]any)[0].(*value.Map)
	made := &value.Map{}
	for i := range all.Len() {
		key, v := all.At(i)
		if v != nil && (key != "replace_on_change" || v == true) {
			made.Set(key, v)
		}
	}
	typ, _ := made.Get("type")
	if unset, _ := made.Get("default"); unset != nil && unset != "" {
		typed, err := resourcetype.AsParameter(value.Str(typ), unset)
		if err != nil {
			return nil, err
		}
		made.Set("default", typed)
	}
	if valued {
		made.Set(of, v)
	}
	return made, nil
}

// Seal writes a config to its row.
func (c *Config) Seal(row *orchestration.Config, box *secrets.Box) error {
	m := value.NewMap("config", c.Config, "inputs", c.Inputs, "outputs", c.Outputs, "options", c.Options)
	text, err := m.MarshalJSON()
	if err != nil {
		return fmt.Errorf("config %s: %w", row.ID, err)
	}
	row.Content = box.Seal(text, contentOf(row))
	return nil
}

// OpenConfig reads the config of a row.
func OpenConfig(row *orchestration.Config, box *secrets.Box) (*Config, error) {
	text, err := box.Open(row.Content, contentOf(row))
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", row.ID, err)
	}
	m, err := mapping(string(text))
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", row.ID, err)
	}
	c := &Config{}
	c.Config, _ = m.Get("config")
	c.Options, _ = m.Get("options")
	for key, into := range map[string]*[]any{"inputs": &c.Inputs, "outputs": &c.Outputs} {
		v, _ := m.Get(key)
		*into, _ = v.([]any)
	}
	return c, nil
}

// contentOf is the place that a config is sealed for.
func contentOf(row *orchestration.Config) string { return "config/" + row.ID }
