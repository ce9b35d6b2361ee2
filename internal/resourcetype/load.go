package resourcetype

// Types as they are written down.

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/schemas"
)

// Support says how far a type or a property may be relied on.
type Support struct {
	Status  string `yaml:"status"`
	Version string `yaml:"version"`
	Message string `yaml:"message"`
	// Previous is what it was before; nil if nothing is known of that.
	Previous *Support `yaml:"previous_status"`
}

// Hidden says whether it is kept from view.
func (s Support) Hidden() bool { return s.Status == "HIDDEN" }

// Type is one type of resource.
type Type struct {
	Name string `yaml:"type"`
	// Class is the original's name of what carries it out.
	Class   string  `yaml:"class"`
	Support Support `yaml:"support"`
	// Anything says that it takes any property and looks at none.
	Anything bool `yaml:"anything"`
	// AnyAttribute says that more attributes can be read than there are here.
	AnyAttribute bool `yaml:"any_attribute"`
	// Renewed says that whatever an update says, another takes a resource's place.
	Renewed    bool                `yaml:"renewed"`
	Properties Ordered[*Property]  `yaml:"properties"`
	Attributes Ordered[*Attribute] `yaml:"attributes"`
	// UpdatePolicy is what a template may say of how resources are changed.
	UpdatePolicy Ordered[*Property] `yaml:"update_policy"`
	// Conflicts are properties of which only one may be given ("roles.project" is one in
	// each item of the list roles), OneOf those of which
	// one must be, Depends those that aren't given without another.
	Conflicts [][]string `yaml:"conflicts"`
	OneOf     [][]string `yaml:"one_of"`
	Depends   [][]string `yaml:"depends"`
	// Unsupported are paths of properties that are refused.
	Unsupported []string `yaml:"unsupported"`
	// After are the resources in the same template that it comes after, though it
	// doesn't refer to them.
	After []After `yaml:"after"`
	// REST says how its resources are made; nil if that is written in Go.
	REST *REST `yaml:"rest"`
	// Template is the file of a stack that the type is a template of; empty if it is
	// none.
	Template string `yaml:"-"`
}

// After says that a resource comes after those of a type: those whose properties
// (the keys, paths of names) are the same as its own (the values).
type After struct {
	Type  string            `yaml:"type"`
	Where map[string]string `yaml:"where"`
}

// Attribute is what can be read of a resource.
type Attribute struct {
	// Type is empty if it may be of any.
	Type    string  `yaml:"type"`
	Support Support `yaml:"support"`
}

// Property is what a template says of a resource.
type Property struct {
	// Type is string, integer, number, boolean, map, list or any.
	Type     string `yaml:"type"`
	Required bool   `yaml:"required"`
	// Default is nil if there is none.
	Default any `yaml:"default"`
	// UpdateAllowed says that it can be changed in place, Immutable that it can't
	// be changed at all.
	UpdateAllowed bool          `yaml:"update_allowed"`
	Immutable     bool          `yaml:"immutable"`
	Constraints   []*constraint `yaml:"constraints"`
	Support       Support       `yaml:"support"`
	// Lenient takes a text for a list, and a text or a list for a map.
	Lenient bool `yaml:"-"`
	// StandsFor is the property beside it that it is an older name of.
	StandsFor string `yaml:"stands_for"`
	// Schema are the properties of a map, or under "*" those of a list's items.
	Schema Ordered[*Property] `yaml:"schema"`
}

// constraint is a constraint in the words of the API.
type constraint struct {
	Range         *bounds `yaml:"range"`
	Length        *bounds `yaml:"length"`
	AllowedValues []any   `yaml:"allowed_values"`
	Pattern       string  `yaml:"allowed_pattern"`
	Custom        string  `yaml:"custom_constraint"`

	checked *hot.Constraint
}

type bounds struct {
	Min any `yaml:"min"`
	Max any `yaml:"max"`
}

// Ordered is a map that keeps the order of its file.
type Ordered[V any] struct {
	Names  []string
	byName map[string]V
}

// Get is the value of a name, and whether it is there.
func (o Ordered[V]) Get(name string) (V, bool) { v, ok := o.byName[name]; return v, ok }

// UnmarshalYAML reads a mapping.
func (o *Ordered[V]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: not a mapping", node.Line)
	}
	o.byName = map[string]V{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		var v V
		if err := node.Content[i+1].Decode(&v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.Names = append(o.Names, name)
		o.byName[name] = v
	}
	return nil
}

// Registry has the types that there are.
type Registry struct {
	types  []*Type
	byName map[string]*Type
}

// Builtin are the types of this release.
var Builtin = sync.OnceValues(func() (*Registry, error) { return Load(schemas.Resources, "resources") })

// Load reads the types of a folder, a file each, in the order of their names.
func Load(from fs.FS, folder string) (*Registry, error) {
	return (&Registry{}).With(from, folder)
}

// Open gives the types of this release and those of a folder of the operator's, if
// there is one.
func Open(folder string) (*Registry, error) {
	r, err := Builtin()
	if err != nil || folder == "" {
		return r, err
	}
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("resource types: %w", err)
	}
	return r.With(os.DirFS(folder), ".")
}

// With gives these types and those of a folder, a file each. No two are of a name.
func (r *Registry) With(from fs.FS, folder string) (*Registry, error) {
	files, err := fs.Glob(from, path.Join(folder, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("resource types: %w", err)
	}
	all := &Registry{types: slices.Clone(r.types), byName: map[string]*Type{}}
	maps.Copy(all.byName, r.byName)
	for _, file := range files {
		text, err := fs.ReadFile(from, file)
		if err != nil {
			return nil, fmt.Errorf("resource types: %w", err)
		}
		decoder := yaml.NewDecoder(strings.NewReader(string(text)))
		decoder.KnownFields(true)
		t := &Type{}
		if err := decoder.Decode(t); err != nil {
			return nil, fmt.Errorf("resource type of %s: %w", file, err)
		}
		if err := t.prepare(); err != nil {
			return nil, fmt.Errorf("resource type of %s: %w", file, err)
		}
		if all.byName[t.Name] != nil {
			return nil, fmt.Errorf("resource type of %s: %s is there already", file, t.Name)
		}
		all.byName[t.Name] = t
		all.types = append(all.types, t)
	}
	slices.SortFunc(all.types, func(a, b *Type) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// All are the types in the order of their names.
func (r *Registry) All() []*Type { return r.types }

// Find is the type of a name; nil if there is none.
func (r *Registry) Find(name string) *Type { return r.byName[name] }

// HasType makes a Registry what a hot.Registry asks.
func (r *Registry) HasType(name string) bool { return r.byName[name] != nil }

// HasAttribute says whether resources of the type have an attribute.
func (t *Type) HasAttribute(name string) bool {
	_, ok := t.Attributes.Get(name)
	return ok || name == show || t.Anything || t.AnyAttribute || t.Template != "" && strings.HasPrefix(name, "resource.")
}

// show is the attribute that every type has.
const show = "show"

func (t *Type) prepare() error {
	if t.Name == "" || t.Support.Status == "" {
		return fmt.Errorf("it has no name or no support status")
	}
	if err := prepareAll(t.UpdatePolicy); err != nil {
		return err
	}
	if err := prepareAll(t.Properties); err != nil || t.REST == nil {
		return err
	}
	return t.REST.check(t)
}

var types = []string{"string", "integer", "number", "boolean", "map", "list", "any"}

func prepareAll(properties Ordered[*Property]) error {
	for _, name := range properties.Names {
		p, _ := properties.Get(name)
		if !slices.Contains(types, p.Type) {
			return fmt.Errorf("%s is of type %q", name, p.Type)
		}
		if _, ok := properties.Get(p.StandsFor); p.StandsFor != "" && !ok {
			return fmt.Errorf("%s stands for %s, which is not there", name, p.StandsFor)
		}
		if p.Default != nil {
			p.Default = value.Of(p.Default)
		}
		for _, c := range p.Constraints {
			if err := c.prepare(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := prepareAll(p.Schema); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (c *constraint) prepare() (err error) {
	c.checked = &hot.Constraint{Range: c.Range.of(), Length: c.Length.of(), Custom: c.Custom}
	for _, v := range c.AllowedValues {
		c.checked.Allowed = append(c.checked.Allowed, value.Of(v))
	}
	if c.Pattern != "" {
		c.checked.Pattern, err = hot.NewPattern(c.Pattern)
	}
	return err
}

func (b *bounds) of() *hot.Bounds {
	if b == nil {
		return nil
	}
	of := func(v any) any {
		if v == nil {
			return nil
		}
		return value.Of(v)
	}
	return &hot.Bounds{Min: of(b.Min), Max: of(b.Max)}
}

// Described are the property's constraints in the words of the API.
func (p *Property) Described() []map[string]any {
	var all []map[string]any
	for _, c := range p.Constraints {
		switch {
		case c.Range != nil:
			all = append(all, map[string]any{"range": c.Range.described()})
		case c.Length != nil:
			all = append(all, map[string]any{"length": c.Length.described()})
		case c.Pattern != "":
			all = append(all, map[string]any{"allowed_pattern": c.Pattern})
		case c.Custom != "":
			all = append(all, map[string]any{"custom_constraint": c.Custom})
		default:
			all = append(all, map[string]any{"allowed_values": c.AllowedValues})
		}
	}
	return all
}

func (b *bounds) described() map[string]any {
	said := map[string]any{}
	if b.Min != nil {
		said["min"] = b.Min
	}
	if b.Max != nil {
		said["max"] = b.Max
	}
	return said
}

// Custom is the name of the property's custom constraint; empty if it has none.
func (p *Property) Custom() string {
	for _, c := range p.Constraints {
		if c.Custom != "" {
			return c.Custom
		}
	}
	return ""
}
