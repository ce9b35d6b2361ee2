package stacks

// Groups: a number of resources that are alike, which are a stack of their own.

import (
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/store/orchestration"
)

// GroupTemplate is the template of a group with members of some names.
func GroupTemplate(properties *value.Map, names []string) *value.Map {
	members := &value.Map{}
	for _, name := range names {
		members.Set(name, GroupMember(properties, name))
	}
	return MembersTemplate(members)
}

// MembersTemplate is the template of a group with some members.
func MembersTemplate(members *value.Map) *value.Map {
	return value.NewMap("heat_template_version", "2015-04-30", "resources", members)
}

// GroupMember is what a group says of its member of a name.
func GroupMember(properties *value.Map, name string) *value.Map {
	given, _ := properties.Get("resource_def")
	definition, _ := given.(*value.Map)
	typ, _ := definition.Get("type")
	index, _ := properties.Get("index_var")
	member := value.NewMap("type", typ)
	if own, _ := definition.Get("properties"); own != nil {
		member.Set("properties", indexed(said(own), value.Str(index), name))
	}
	if metadata, _ := definition.Get("metadata"); metadata != nil {
		member.Set("metadata", metadata)
	}
	return member
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

// membersKey is where a group's type keeps its members.
const membersKey = "members"

// members are the resources of a group, in their order.
type members []member

type member struct {
	name       string
	reference  any
	attributes *value.Map
}

// KeepMembers has the resources of a nested stack be read through the one that it is:
// data keeps them. It gives what they are, in their order and by their names.
func KeepMembers(data *value.Map, w *World, rows []*orchestration.Resource) (refs []any, named *value.Map, err error) {
	list := []any{}
	refs, named = []any{}, &value.Map{}
	for _, r := range rows {
		reference, err := w.Reference(r.Name)
		if err != nil {
			return nil, nil, err
		}
		own, err := w.All(r.Name)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, value.NewMap("name", r.Name, "reference", reference, "attributes", own))
		refs = append(refs, reference)
		named.Set(r.Name, reference)
	}
	data.Set(membersKey, list)
	return refs, named, nil
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
			if m.name == wanted {
				return m.through(attribute, further, path), nil
			}
		}
		return nil, faults.New(faults.NotFound, "NotFound", "Member '%s' not found in group resource '%s'.", wanted, group)
	}
	if name == "attributes" {
		if len(path) == 0 {
			return nil, noAttribute(group, name)
		}
		return all.named(path), nil
	}
	list := make([]any, len(all))
	for i, m := range all {
		list[i] = m.read(name, path)
	}
	return list, nil
}

// named is what a path leads to in each member, by its name.
func (all members) named(path []any) *value.Map {
	named := &value.Map{}
	for _, m := range all {
		named.Set(m.name, m.read(value.Str(path[0]), path[1:]))
	}
	return named
}

func noAttribute(group, name string) error {
	return &hot.Error{Class: hot.InvalidAttribute, Message: "The Referenced Attribute (" + group + " " + name + ") is incorrect."}
}

// through is what is read of one member: the attribute that is said, or that the path
// begins with, or what get_resource gives of it.
func (m member) through(attribute string, said bool, path []any) any {
	switch {
	case said:
		return m.read(attribute, path)
	case len(path) > 0:
		return m.read(value.Str(path[0]), path[1:])
	}
	return m.reference
}

func (m member) read(attribute string, path []any) any {
	v, _ := m.attributes.Get(attribute)
	return hot.Select(v, path)
}
