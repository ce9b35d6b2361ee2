package stacks

// Definitions: what a stack is asked to be.

import (
	"slices"
	"strings"
	"sync"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// Definition is a template with its parameters and what belongs to them.
type Definition struct {
	*hot.Stack
	Environment *hot.Environment
	Files       map[string]string
	// Types are the types of resources that there are.
	Types *resourcetype.Registry
	// Depth is how many parents the stack has.
	Depth int

	// facade is the resource that the stack is, where its template may ask for that.
	facade *hot.Facade
	// zones are the availability zones of the owner; nil if nobody has asked for them.
	zones  []string
	who    hot.Identity
	family *family
	// filesID is what the files are kept as; 0 is nothing yet.
	filesID int64
	// uses are the types that it was found to use, once.
	uses struct {
		sync.Once
		types []*resourcetype.Type
		zones bool // that they ask for zones, or the stack itself
	}
}

// define binds a template to the parameters of an environment.
func define(t *hot.Template, env *hot.Environment, around hot.Surroundings, who hot.Identity, types *resourcetype.Registry, fetch Fetcher) (*Definition, error) {
	d := &Definition{Environment: env, Files: around.Files, Types: types, family: newFamily(fetch), facade: around.Facade, zones: around.Zones}
	if err := d.bind(t, who); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Definition) bind(t *hot.Template, who hot.Identity) error {
	d.who = who
	parameters, err := hot.NewParameters(t, who, d.Environment.Parameters, d.Environment.Defaults)
	if err != nil {
		return err
	}
	if d.Stack, err = hot.Bind(t, parameters, hot.Surroundings{Files: d.Files, Zones: d.zones, Facade: d.facade}); err != nil {
		return err
	}
	d.order()
	return nil
}

// order has resources come after those that their types say. What is wrong with a
// resource is told when it is validated.
func (d *Definition) order() {
	after := map[string][]string{}
	given := map[string]*value.Map{}
	properties := func(r *hot.Resource) *value.Map {
		if m, ok := given[r.Name]; ok {
			return m
		}
		m, err := r.Properties(hot.Nothing)
		if err != nil {
			m = nil
		}
		if t, err := d.TypeOf(r); err == nil {
			m = t.Named(m)
		}
		given[r.Name] = m
		return m
	}
	byType := map[string][]*hot.Resource{}
	for _, r := range d.Resources() {
		if t, err := d.TypeOf(r); err == nil {
			byType[t.Name] = append(byType[t.Name], r)
		}
	}
	for name, those := range byType {
		t := d.Types.Find(name)
		if t == nil {
			continue // a template
		}
		for _, rule := range t.After {
			for _, r := range those {
				for _, other := range byType[rule.Type] {
					if rule.Fits(properties(r), properties(other)) {
						after[r.Name] = append(after[r.Name], other.Name)
					}
				}
			}
		}
	}
	if len(after) > 0 {
		_ = d.Imply(after) // what is wrong with references is told by Validate
	}
}

// TypeOf is the type of a resource. Errors: Invalid, there is no such type.
func (d *Definition) TypeOf(r *hot.Resource) (*resourcetype.Type, error) {
	meaning, err := d.Environment.Registry.Find(r.Type, r.Name, d.Types)
	if err != nil {
		return nil, err
	}
	if meaning.Template != "" {
		return d.provided(r.Type, meaning.Template)
	}
	t := d.Types.Find(meaning.Type)
	if t == nil {
		return nil, &hot.Error{Class: hot.ValidationFailed, Message: "The Resource Type (" + value.Clip(r.Type, maxShown) + ") could not be found."}
	}
	return t, nil
}

// maxShown is how much is shown of a name.
const maxShown = 255

// WantsZones says that the template asks for the owner's availability zones, and that
// nobody has read them yet.
func (d *Definition) WantsZones() bool { return d.zones == nil && d.AsksZones() }

// Outside says whether a resource may be outside our own database, or something is asked
// that isn't in it.
func (d *Definition) Outside() bool {
	for _, r := range d.Resources() {
		if _, err := d.TypeOf(r); err != nil {
			return true
		}
	}
	return slices.ContainsFunc(d.Used(), func(t *resourcetype.Type) bool { return t.REST != nil }) || d.usesZones()
}

// usesZones says whether the template asks for zones, or that of a stack nested in it.
func (d *Definition) usesZones() bool {
	d.Used()
	return d.uses.zones
}

// Used are the types of the resources, and of what is nested in those that are stacks,
// as far as they can be known before anything is there: nothing else is made. What
// is wrong with a type is told by Validate.
func (d *Definition) Used() []*resourcetype.Type {
	d.uses.Do(func() { d.uses.types, d.uses.zones = d.used(NewBudget(maxInside)) })
	return d.uses.types
}

func (d *Definition) used(left *Budget) (used []*resourcetype.Type, zones bool) {
	zones = d.AsksZones()
	for _, r := range d.Resources() {
		t, err := d.TypeOf(r)
		if err != nil {
			continue
		}
		used = append(used, t)
		if !nests(t) {
			continue
		}
		inside, err := d.Inside(r, t, left)
		if err != nil {
			return used, zones
		}
		if inside != nil {
			types, asks := inside.used(left)
			used, zones = append(used, types...), zones || asks
		}
	}
	return used, zones
}

// Validate checks all that can be checked before anything is done, in the
// original's order.
func (d *Definition) Validate() error {
	if err := servedEnvironment(d.Environment); err != nil {
		return err
	}
	return d.validate(true, NewBudget(maxInside))
}

// ValidateTemplate is Validate without asking whether every parameter has a
// value, nor what depends on that.
func (d *Definition) ValidateTemplate() error { return d.validate(false, NewBudget(maxInside)) }

func (d *Definition) validate(strict bool, left *Budget) error {
	if err := d.Template.Validate(); err != nil {
		return err
	}
	if err := d.Parameters.ValidateGroups(); err != nil {
		return err
	}
	if err := d.Parameters.Validate(strict, Constraints); err != nil {
		return err
	}
	if err := d.Stack.Validate(d); err != nil {
		return err
	}
	for _, r := range d.Resources() {
		t, err := d.TypeOf(r)
		if err != nil {
			return err
		}
		if strings.Contains(r.Name, "/") {
			return &hot.Error{Class: hot.ValidationFailed, Message: `Resource name may not contain "/"`}
		}
		if !strict {
			continue
		}
		if err := d.servedResource(r, t); err != nil {
			return err
		}
		if r.External() {
			continue // what it says of that is not to be carried out
		}
		if err := d.check(r, t, left); err != nil {
			return err
		}
	}
	return nil
}

// check holds a resource's properties against its type, as far as they can be
// known before anything is there.
func (d *Definition) check(r *hot.Resource, t *resourcetype.Type, left *Budget) error {
	requires, err := r.Requires()
	if err != nil {
		return err
	}
	unknown := func(string) bool { return len(requires) > len(r.DependsOn) }
	if _, err := d.policy(r, t, hot.Nothing, unknown); err != nil {
		return err
	}
	made, err := d.judged(r, t, hot.Nothing, unknown)
	if err != nil {
		return err
	}
	if rule := rules[t.Class]; rule != nil {
		if err := rule(d, r, made, unknown("")); err != nil {
			return err
		}
	}
	if !nests(t) {
		return nil
	}
	return d.checkNested(r, t, made, unknown(""), left)
}

// judged are a resource's properties held against its type, in the original's order: what
// it has no property for is told before functions are worked out.
func (d *Definition) judged(r *hot.Resource, t *resourcetype.Type, now hot.Attributes, unknown func(string) bool) (*value.Map, error) {
	if err := t.CheckNames(r.PropertyNames(), d.place(r)); err != nil {
		return nil, err
	}
	given, err := propertiesOf(r, t, now)
	if err != nil {
		return nil, err
	}
	return t.Check(given, d.place(r), unknown, Constraints)
}

// propertiesOf are a resource's properties with their functions worked out, unless its type
// looks at none.
func propertiesOf(r *hot.Resource, t *resourcetype.Type, now hot.Attributes) (*value.Map, error) {
	if t.Anything {
		return &value.Map{}, nil
	}
	return r.Properties(now)
}

// UpdatePolicy is a resource's, as it is with the resources that there are now.
// Errors: Invalid.
func (d *Definition) UpdatePolicy(r *hot.Resource, now hot.Attributes) (*value.Map, error) {
	t, err := d.TypeOf(r)
	if err != nil {
		return nil, err
	}
	return d.policy(r, t, now, nil)
}

func (d *Definition) policy(r *hot.Resource, t *resourcetype.Type, now hot.Attributes, unknown func(string) bool) (*value.Map, error) {
	given, err := r.UpdatePolicy(now)
	if err != nil {
		return nil, err
	}
	return t.CheckPolicy(given, d.part(r, "update_policy", "UpdatePolicy"), unknown)
}

// place is where a resource's properties are in its template.
func (d *Definition) place(r *hot.Resource) string { return d.part(r, "properties", "Properties") }

// part is where a part of a resource is in its template.
func (d *Definition) part(r *hot.Resource, inHOT, inCFN string) string {
	return hot.Join(d.section("resources", "Resources"), r.Name, d.section(inHOT, inCFN))
}

func (d *Definition) section(inHOT, inCFN string) string {
	if d.Template.Version.Type == "cfn" {
		return inCFN
	}
	return inHOT
}

// Resolve gives a resource's properties as they are with the resources that
// there are now. Those of what isn't the stack's are nobody's to judge.
func (d *Definition) Resolve(r *hot.Resource, t *resourcetype.Type, now hot.Attributes) (*value.Map, error) {
	if !r.External() {
		return d.judged(r, t, now, nil)
	}
	given, err := propertiesOf(r, t, now)
	if err != nil {
		return nil, err
	}
	return t.Named(given), nil
}

// HasAttribute makes a Definition the hot.Schemas of its template.
func (d *Definition) HasAttribute(r *hot.Resource, attribute string) bool {
	t, err := d.TypeOf(r)
	if err != nil {
		return true // that is said of the type
	}
	return t.HasAttribute(attribute)
}
