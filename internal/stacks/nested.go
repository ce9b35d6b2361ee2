package stacks

// Nested stacks: what the stack is to be that a resource is.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// MaxDepth is how deep stacks may be nested.
const MaxDepth = 5

const (
	// maxNested is how many nested stacks are looked into before anything is there:
	// more than a stack may have resources.
	maxNested = 2000
	// maxInside is how long their templates may be together: no shorter than that of
	// all members of a group.
	maxInside = 32 << 20
)

// Budget is how much more is looked into of what is nested in a stack, so that
// nobody's look takes for ever.
type Budget struct{ stacks, length int }

// NewBudget is what a look may take into templates that are so long together.
func NewBudget(length int) *Budget { return &Budget{maxNested, length} }

// spend looks into one more stack. Errors: Invalid, nothing is left for it.
func (b *Budget) spend(t *hot.Template) error {
	if b.stacks == 0 || b.length <= 0 {
		return errTooMuch()
	}
	b.stacks--
	b.length -= len(value.JSON(t.Body(), false))
	return nil
}

// errTooMuch says that more is nested in a stack than is looked into.
func errTooMuch() error {
	return &hot.Error{Class: hot.LimitExceeded, Message: "Request limit exceeded: Maximum resources per stack exceeded."}
}

// The classes of types whose resources are stacks.
const (
	groupClass = "ResourceGroup"
	chainClass = "ResourceChain"
	stackClass = "RemoteStack"
)

// Provider is what carries out resources whose types are templates.
const Provider = "provider template"

// CarriedBy is what carries out a resource, where that isn't of its type's name.
func (d *Definition) CarriedBy(r *hot.Resource) string {
	switch t, err := d.TypeOf(r); {
	case err != nil, t.Name == r.Type && t.Template == "":
		return ""
	case t.Template != "":
		return Provider
	default:
		return t.Name
	}
}

// Nests says whether a resource is a stack.
func (d *Definition) Nests(r *hot.Resource) bool {
	t, err := d.TypeOf(r)
	return err == nil && nests(t)
}

// Nested is what the stack of a resource is made by.
type Nested struct {
	Template   *hot.Template
	Parameters *value.Map
	// Without is the type that stands for the stack itself, and doesn't in it.
	Without string
	// Files are those that it was made by before, where something of that stays.
	Files map[string]string
	// Facade is the resource as the template may ask for it; nil if it may not.
	Facade *hot.Facade
}

// nests says whether resources of a type are stacks.
func nests(t *resourcetype.Type) bool {
	return t.Template != "" || slices.Contains([]string{groupClass, scalingClass, instanceClass, chainClass, stackClass}, t.Class)
}

// family is what a stack and those nested in it have in common: templates of their
// files, which are read once.
type family struct {
	mu     sync.Mutex
	parsed map[string]*hot.Template
	types  map[[2]string]*resourcetype.Type
	fetch  Fetcher
}

func newFamily(fetch Fetcher) *family {
	return &family{parsed: map[string]*hot.Template{}, types: map[[2]string]*resourcetype.Type{}, fetch: fetch}
}

// template is the one of a file. Errors: Invalid.
func (d *Definition) template(file string) (*hot.Template, error) {
	d.family.mu.Lock()
	defer d.family.mu.Unlock()
	if t := d.family.parsed[file]; t != nil {
		return t, nil
	}
	text, err := d.file(file)
	if err != nil {
		return nil, err
	}
	t, err := hot.Parse(text, file, hot.Limits{})
	if err != nil {
		return nil, &hot.Error{Class: hot.ValidationFailed, Message: err.Error()}
	}
	d.family.parsed[file] = t
	return t, nil
}

// provided is the type of a name that the template of a file stands for. Errors:
// Invalid.
func (d *Definition) provided(name, file string) (*resourcetype.Type, error) {
	t, err := d.template(file)
	if err != nil {
		return nil, err
	}
	d.family.mu.Lock()
	defer d.family.mu.Unlock()
	key := [2]string{name, file}
	if known := d.family.types[key]; known != nil {
		return known, nil
	}
	schemas, err := t.Schemas()
	if err != nil {
		return nil, err
	}
	outputs, err := t.OutputNames()
	if err != nil {
		return nil, err
	}
	made := resourcetype.FromTemplate(name, file, schemas, outputs, d.Environment.Defaults)
	d.family.types[key] = made
	return made, nil
}

// Child is what a stack nested in this one is asked to be: the stack of one of its
// resources. Errors: Invalid.
func (d *Definition) Child(n *Nested, who hot.Identity, resource string) (*Definition, error) {
	if d.Depth >= MaxDepth {
		return nil, &hot.Error{Class: hot.LimitExceeded, Message: fmt.Sprintf("Request limit exceeded: Recursion depth exceeds %d.", MaxDepth)}
	}
	child := &Definition{Files: d.Files, Types: d.Types, Depth: d.Depth + 1, facade: n.Facade, zones: d.zones, family: d.family, filesID: d.filesID}
	child.keepFiles(n.Files)
	child.Environment = d.Environment.Child(n.Parameters, n.Without, resource)
	if err := child.bind(n.Template, who); err != nil {
		return nil, err
	}
	return child, nil
}

// keepFiles has files of before be there that aren't any more.
func (d *Definition) keepFiles(before map[string]string) {
	if len(before) == 0 {
		return
	}
	all := maps.Clone(before)
	maps.Copy(all, d.Files)
	if len(all) > len(d.Files) {
		d.Files, d.filesID = all, 0
		d.family = newFamily(d.family.fetch)
	}
}

// NestedOf is what the stack of a resource is made by, as far as that is known by its
// properties with the resources that there are now; one member stands for all of a
// group. Nil is a stack of which nothing is known yet, or none. Errors: Invalid.
func (d *Definition) NestedOf(r *hot.Resource, t *resourcetype.Type, properties *value.Map, now hot.Attributes) (*Nested, error) {
	switch {
	case t.Template != "":
		return d.ProviderOf(r, t, properties, now)
	case t.Class == groupClass:
		if definition, _ := properties.Get("resource_def"); !value.Truth(definition) {
			return nil, nil
		}
		return Made(GroupTemplate(properties, []string{"0"}))
	case t.Class == scalingClass:
		if definition, _ := properties.Get("resource"); !value.Truth(definition) {
			return nil, nil
		}
		return Made(MembersTemplate(value.NewMap("member", ScaledMember(properties))))
	case t.Class == instanceClass:
		return d.instanceOf(r, properties)
	case t.Class == chainClass:
		if types, _ := properties.Get("resources"); !value.Truth(types) {
			return nil, nil
		}
		return Made(ChainTemplate(properties))
	case t.Class == stackClass:
		if text, _ := properties.Get("template"); !value.Truth(text) {
			return nil, nil
		}
		return StackOf(properties)
	}
	return nil, nil
}

// Made is a nested stack by a template without parameters.
func Made(template *value.Map) (*Nested, error) {
	t, err := hot.New(template)
	if err != nil {
		return nil, err
	}
	return &Nested{Template: t}, nil
}

// ProviderOf is what the stack of a resource is made by whose type is a template: the
// properties are its parameters.
func (d *Definition) ProviderOf(r *hot.Resource, t *resourcetype.Type, properties *value.Map, now hot.Attributes) (*Nested, error) {
	template, err := d.template(t.Template)
	if err != nil {
		return nil, err
	}
	n := &Nested{Template: template, Parameters: &value.Map{}, Without: r.Type, Facade: r.Facade(now)}
	for i := range properties.Len() {
		name, v := properties.At(i)
		if list, ok := v.([]any); ok {
			v = flat(list)
		}
		if v != nil {
			n.Parameters.Set(name, v)
		}
	}
	return n, nil
}

// flat is a list as the value of a parameter that is one.
func flat(list []any) string {
	var items []string
	for n, item := range list {
		m, ok := item.(*value.Map)
		switch {
		case item == nil:
			items = append(items, "")
		case !ok:
			items = append(items, value.Str(item))
		}
		for i := range m.Len() {
			key, v := m.At(i)
			items = append(items, fmt.Sprintf(".member.%d.%s=%s", n, value.Str(key), value.Str(v)))
		}
	}
	return strings.Join(items, ",")
}

// ChainTemplate is the template of a chain: a resource of each type, all with the same
// properties, each after the one before it.
func ChainTemplate(properties *value.Map) *value.Map {
	given, _ := properties.Get("resources")
	types, _ := given.([]any)
	concurrent, _ := properties.Get("concurrent")
	common, _ := properties.Get("resource_properties")
	all := &value.Map{}
	for i, typ := range types {
		member := value.NewMap("type", typ)
		if common != nil {
			member.Set("properties", common)
		}
		if i > 0 && concurrent != true {
			member.Set("depends_on", []any{strconv.Itoa(i - 1)})
		}
		all.Set(strconv.Itoa(i), member)
	}
	return MembersTemplate(all)
}

// StackOf is what an OS::Heat::Stack is made by. Errors: Invalid.
func StackOf(properties *value.Map) (*Nested, error) {
	text, _ := properties.Get("template")
	t, err := hot.Parse(value.Str(text), "", hot.Limits{})
	if err != nil {
		return nil, err
	}
	given, _ := properties.Get("parameters")
	parameters, _ := given.(*value.Map)
	return &Nested{Template: t, Parameters: parameters}, nil
}

// checkNested holds what a nested stack is made of against what is known of it;
// unsure says that it depends on what isn't there yet.
func (d *Definition) checkNested(r *hot.Resource, t *resourcetype.Type, properties *value.Map, unsure bool, left *Budget) error {
	if count, is := properties.Get("count"); t.Class == groupClass && is && !value.Truth(count) {
		return nil
	}
	if t.Class == stackClass && unsure {
		return nil // nor is the template known
	}
	if facade := d.Types.Find(r.Type); facade != nil && t.Template != "" {
		if err := t.Facade(facade); err != nil {
			return err
		}
	}
	n, err := d.NestedOf(r, t, properties, hot.Nothing)
	if err != nil || n == nil {
		return err
	}
	if err := left.spend(n.Template); err != nil {
		return err
	}
	child, err := d.Child(n, d.inside(r), r.Name)
	if err == nil {
		err = child.validate(!unsure, left)
	}
	var wrong *hot.Error
	if errors.As(err, &wrong) && wrong.Path != "" {
		at := *wrong
		if at.Class != hot.ValidationFailed {
			at.About, at.Class = at.Class, hot.ValidationFailed
		}
		of := "nested_stack"
		if t.Template != "" {
			of = t.Template
		}
		at.Path = hot.Join(d.section("resources", "Resources"), r.Name+"<"+of+">", wrong.Path)
		return &at
	}
	return err
}

// inside is what the stack of a resource is called before it is there.
func (d *Definition) inside(r *hot.Resource) hot.Identity {
	return hot.Identity{Project: d.who.Project, Name: d.who.Name + "-" + r.Name, ID: "None"}
}

// Inside is what is nested in the stack as a resource, as far as it can be known what
// that is; nil if it can't, or if nothing is. Errors: Invalid, nothing is left to look
// into it.
func (d *Definition) Inside(r *hot.Resource, t *resourcetype.Type, left *Budget) (*Definition, error) {
	given, err := r.Properties(hot.Nothing)
	if err != nil {
		return nil, nil
	}
	properties, err := t.Check(given, d.place(r), func(string) bool { return true }, Constraints)
	if err != nil {
		return nil, nil
	}
	n, err := d.NestedOf(r, t, properties, hot.Nothing)
	if err != nil || n == nil {
		return nil, nil
	}
	if err := left.spend(n.Template); err != nil {
		return nil, err
	}
	child, err := d.Child(n, d.inside(r), r.Name)
	if err != nil {
		return nil, nil
	}
	return child, nil
}

// Beyond is the name of a type that a nested stack would have and that none of some
// definitions, nil or those of its parent and of what it is now, was known to use
// when it was asked for; "" if there is none.
func (d *Definition) Beyond(those ...*Definition) string {
	known := map[string]bool{}
	for _, one := range those {
		if one == nil {
			continue
		}
		for _, t := range one.Used() {
			known[t.Name] = true
		}
	}
	for _, t := range d.Used() {
		if !known[t.Name] {
			return t.Name
		}
	}
	return ""
}

// InsideOf is what a nested stack that is there is to be, as far as that is known, by the
// names of its members: a group has the first of them, and as many more as it is told;
// one that scales itself those that there are. Nil if nothing is known. Errors: Invalid,
// nothing is left to look into it.
func (d *Definition) InsideOf(r *hot.Resource, t *resourcetype.Type, now *World, there hot.Identity, members []string, left *Budget) (*Definition, error) {
	properties, err := d.Resolve(r, t, now)
	if err != nil {
		return nil, nil
	}
	n, err := d.NestedOf(r, t, properties, now)
	switch {
	case err != nil || n == nil:
		return nil, nil
	case t.Class == groupClass:
		names, err := membersAfter(properties, members)
		if err != nil {
			return nil, err
		}
		n, err = Made(GroupTemplate(properties, names))
		if err != nil {
			return nil, nil
		}
	case t.Class == scalingClass, t.Class == instanceClass:
		given, _ := n.Template.Body().Get("resources")
		one, _ := given.(*value.Map)
		all := &value.Map{}
		for _, name := range members {
			_, member := one.At(0)
			all.Set(name, member)
		}
		if n, err = Made(MembersTemplate(all)); err != nil {
			return nil, nil
		}
	}
	if err := left.spend(n.Template); err != nil {
		return nil, err
	}
	child, err := d.Child(n, there, r.Name)
	if err != nil {
		return nil, nil
	}
	return child, nil
}

// membersAfter are the names of a group's members after an update, of those that there are.
// Errors: Invalid, there are more than is looked into.
func membersAfter(properties *value.Map, there []string) ([]string, error) {
	given, _ := properties.Get("count")
	count, err := strconv.Atoi(value.Str(given))
	if err != nil || count > maxNested {
		return nil, errTooMuch()
	}
	last := -1
	numbers := map[string]int{}
	for _, name := range there {
		numbers[name], _ = strconv.Atoi(name) // all are numbers
		last = max(last, numbers[name])
	}
	names := slices.SortedFunc(slices.Values(there), func(a, b string) int { return numbers[a] - numbers[b] })
	for len(names) < count {
		last++
		names = append(names, strconv.Itoa(last))
	}
	return names[:max(count, 0)], nil
}
