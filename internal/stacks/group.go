package stacks

// Groups: a number of resources that are alike, which are a stack of their own.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/store/orchestration"
)

// MaxDepth is how deep stacks may be nested.
const MaxDepth = 5

// groupClass is the class of the type of groups.
const groupClass = "ResourceGroup"

// Child is what a stack nested in this one is asked to be: the stack of one of its
// resources. Errors: Invalid.
func (d *Definition) Child(template, parameters *value.Map, who hot.Identity, resource string) (*Definition, error) {
	if d.Depth >= MaxDepth {
		return nil, &hot.Error{Class: hot.LimitExceeded, Message: fmt.Sprintf("Request limit exceeded: Recursion depth exceeds %d.", MaxDepth)}
	}
	t, err := hot.New(template)
	if err != nil {
		return nil, err
	}
	child, err := define(t, d.Environment.Child(parameters, "", resource), d.Files, who, d.Types)
	if err != nil {
		return nil, err
	}
	child.Depth = d.Depth + 1
	return child, nil
}

// GroupTemplate is the template of a group with members of some names.
func GroupTemplate(properties *value.Map, names []string) *value.Map {
	given, _ := properties.Get("resource_def")
	definition, _ := given.(*value.Map)
	typ, _ := definition.Get("type")
	index, _ := properties.Get("index_var")
	members := &value.Map{}
	for _, name := range names {
		member := value.NewMap("type", typ)
		if own, _ := definition.Get("properties"); own != nil {
			member.Set("properties", indexed(said(own), value.Str(index), name))
		}
		if metadata, _ := definition.Get("metadata"); metadata != nil {
			member.Set("metadata", metadata)
		}
		members.Set(name, member)
	}
	return value.NewMap("heat_template_version", "2015-04-30", "resources", members)
}

// said are those of a map's values that aren't null.
func said(v any) any {
	m, ok := v.(*value.Map)
	if !ok {
		return v
	}
	all := &value.Map{}
	for i := range m.Len() {
		if key, v := m.At(i); v != nil {
			all.Set(key, v)
		}
	}
	return all
}

// indexed is a value with a member's name in place of the index variable.
func indexed(v any, variable, name string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, variable, name)
	case *value.Map:
		m := &value.Map{}
		for i := range v.Len() {
			key, item := v.At(i)
			m.Set(key, indexed(item, variable, name))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = indexed(item, variable, name)
		}
		return list
	}
	return v
}

// checkGroup holds what a group is made of against what is known of it; unsure says
// that it depends on what isn't there yet.
func (d *Definition) checkGroup(r *hot.Resource, properties *value.Map, unsure bool) error {
	if count, _ := properties.Get("count"); !value.Truth(count) {
		return nil
	}
	if definition, _ := properties.Get("resource_def"); !value.Truth(definition) {
		return nil // it isn't known yet
	}
	child, err := d.ofOne(r, properties)
	if err == nil {
		err = child.validate(!unsure)
	}
	var wrong *hot.Error
	if errors.As(err, &wrong) && wrong.Path != "" {
		at := *wrong
		at.Path = hot.Join(d.section("resources", "Resources"), r.Name+"<nested_stack>", wrong.Path)
		return &at
	}
	return err
}

// member is the stack of a group with one member; nil if it can't be known what that
// is.
func (d *Definition) member(r *hot.Resource, t *resourcetype.Type) *Definition {
	given, err := r.Properties(hot.Nothing)
	if err != nil {
		return nil
	}
	properties, err := t.Check(given, d.place(r), func(string) bool { return true }, Constraints)
	if err != nil {
		return nil
	}
	child, err := d.ofOne(r, properties)
	if err != nil {
		return nil
	}
	return child
}

// ofOne is the stack of a group with one member: all are of a type.
func (d *Definition) ofOne(group *hot.Resource, properties *value.Map) (*Definition, error) {
	return d.Child(GroupTemplate(properties, []string{"0"}), nil, hot.Identity{}, group.Name)
}

// Beyond is the name of a type that a nested stack would have and that its parent
// was not known to use when it was asked for; "" if there is none.
func (d *Definition) Beyond(parent *Definition) string {
	known := parent.Used()
	for _, t := range d.Used() {
		if !slices.Contains(known, t) {
			return t.Name
		}
	}
	return ""
}

// membersKey is where a group's type keeps its members.
const membersKey = "members"

// members are the resources of a group, in their order.
type members []member

type member struct {
	name       string
	reference  any
	attributes *value.Map
}

// KeepMembers has a group's resources be read through it: it keeps them in data,
// and gives what is read of all of them.
func KeepMembers(data, attributes *value.Map, w *World, rows []*orchestration.Resource) error {
	list, refs, named := []any{}, []any{}, &value.Map{}
	for _, r := range rows {
		reference, err := w.Reference(r.Name)
		if err != nil {
			return err
		}
		own, err := w.All(r.Name)
		if err != nil {
			return err
		}
		list = append(list, value.NewMap("name", r.Name, "reference", reference, "attributes", own))
		refs = append(refs, reference)
		named.Set(r.Name, reference)
	}
	data.Set(membersKey, list)
	attributes.Set("refs", refs)
	attributes.Set("refs_map", named)
	return nil
}

// membersOf are a group's; false if the resource is none.
func membersOf(s *State) (all members, is bool) {
	kept, is := s.Data.Get(membersKey)
	list, _ := kept.([]any)
	for _, item := range list {
		if m, ok := item.(*value.Map); ok {
			name, _ := m.Get("name")
			reference, _ := m.Get("reference")
			own, _ := m.Get("attributes")
			attributes, _ := own.(*value.Map)
			all = append(all, member{value.Str(name), reference, attributes})
		}
	}
	return all, is
}

// attribute is what is read of members through their group: of one by its name, of
// all by theirs, or of all in their order.
func (all members) attribute(group, name string, path []any) (any, error) {
	if rest, one := strings.CutPrefix(name, "resource."); one {
		wanted, attribute, further := strings.Cut(rest, ".")
		for _, m := range all {
			switch {
			case m.name != wanted:
			case further:
				return m.read(attribute, path), nil
			case len(path) > 0:
				return m.read(value.Str(path[0]), path[1:]), nil
			default:
				return m.reference, nil
			}
		}
		return nil, faults.New(faults.NotFound, "NotFound", "Member '%s' not found in group resource '%s'.", wanted, group)
	}
	if name == "attributes" {
		if len(path) == 0 {
			return nil, &hot.Error{Class: hot.InvalidAttribute, Message: "The Referenced Attribute (" + group + " " + name + ") is incorrect."}
		}
		named := &value.Map{}
		for _, m := range all {
			named.Set(m.name, m.read(value.Str(path[0]), path[1:]))
		}
		return named, nil
	}
	list := make([]any, len(all))
	for i, m := range all {
		list[i] = m.read(name, path)
	}
	return list, nil
}

func (m member) read(attribute string, path []any) any {
	v, _ := m.attributes.Get(attribute)
	return hot.Select(v, path)
}
