package hot

// A template bound to its parameters: conditions decided, resources and outputs
// known, functions ready to be worked out.

import (
	"holdfast.dev/internal/hot/value"
)

// Attributes is what a resolution asks of the resources that exist.
type Attributes interface {
	// State is the action and status of a resource; "INIT" if nothing was done
	// with it yet.
	State(resource string) (action, status string)
	// Reference is what get_resource gives: the physical id, or whatever else
	// the type refers to itself by; the resource's name before it has one.
	Reference(resource string) (any, error)
	// Attribute is the value of an attribute, followed along a path. Select
	// does that for a type that doesn't do it in its own way.
	Attribute(resource, attribute string, path []any) (any, error)
	// All is all attributes but "show".
	All(resource string) (*value.Map, error)
}

// Schemas says what is known of the types of resources.
type Schemas interface {
	// HasAttribute says whether the type of a resource has an attribute.
	HasAttribute(resource *Resource, attribute string) bool
}

// nothing is the Attributes of resources that don't exist yet.
type nothing struct{}

func (nothing) State(string) (string, string)                { return "INIT", "COMPLETE" }
func (nothing) Reference(resource string) (any, error)       { return resource, nil }
func (nothing) Attribute(string, string, []any) (any, error) { return nil, nil }
func (nothing) All(string) (*value.Map, error)               { return nil, nil }

// Nothing is the Attributes before any resource exists.
var Nothing Attributes = nothing{}

// Facade is the resource that a nested stack stands for, as its parent has it.
type Facade struct {
	// Metadata and UpdatePolicy are worked out when they are asked for, once.
	Metadata, UpdatePolicy func() (*value.Map, error)
	DeletionPolicy         string
}

// Surroundings is what a stack has beside its template and parameters.
type Surroundings struct {
	// Files are the files of the request, by name.
	Files map[string]string
	// Zones are the availability zones of the user; nil is "nova" alone.
	Zones []string
	// Facade is the resource of the parent stack; nil for a root stack.
	Facade *Facade
}

// Stack is a template bound to parameters. It is never changed, but for what it
// remembers of conditions and functions while it is bound.
type Stack struct {
	Template   *Template
	Parameters *Parameters

	files      map[string]string
	zones      []string
	asksZones  bool
	facade     *Facade
	mappings   *value.Map
	declared   map[string]bool
	conditions *conditions
	resources  []*Resource
	byName     map[string]*Resource
	outputs    []*Output
	// implied are the names that resources come after beside those they refer to.
	implied map[string][]string
}

// Bind parses what the template says about conditions, resources and outputs,
// and decides the conditions. It doesn't ask whether the parameters are valid.
func Bind(t *Template, parameters *Parameters, around Surroundings) (*Stack, error) {
	s := &Stack{Template: t, Parameters: parameters, files: around.Files, zones: around.Zones, facade: around.Facade,
		mappings: &value.Map{}, declared: map[string]bool{}, byName: map[string]*Resource{}}
	if w := t.Version.words; w.mappings != "" {
		mappings, err := t.section(w.mappings)
		if err != nil {
			return nil, err
		}
		s.mappings = mappings
	}
	for _, name := range t.Names() {
		s.declared[name] = true
	}
	for _, load := range []func() error{s.loadConditions, s.loadResources, s.loadOutputs} {
		if err := load(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Stack) evaluation(attrs Attributes) *evaluation {
	if attrs == nil {
		attrs = Nothing
	}
	return &evaluation{stack: s, attrs: attrs}
}

// AsksZones says whether a function of the template gives the availability zones of the
// user: one that stands in what is enabled, and in a branch that is taken.
func (s *Stack) AsksZones() bool { return s.asksZones }

// Resources are the enabled resources in the order of the template.
func (s *Stack) Resources() []*Resource { return s.resources }

// Resource is the enabled resource of a name, nil if there is none.
func (s *Stack) Resource(name string) *Resource { return s.byName[name] }

// Outputs are the outputs in the order of the template, disabled ones too.
func (s *Stack) Outputs() []*Output { return s.outputs }

// Output is the output of a name, nil if there is none.
func (s *Stack) Output(name string) *Output {
	for _, o := range s.outputs {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Validate checks, in the original's order, all that can be checked without
// asking anybody: conditions, names, functions of resources, dependencies,
// functions of outputs. Without schemas the attributes of resources aren't
// checked.
func (s *Stack) Validate(schemas Schemas) error {
	if err := s.conditions.validate(schemas); err != nil {
		return err
	}
	for _, r := range s.resources {
		if s.Parameters.Has(r.Name) {
			e := invalid("", "Duplicate names {%s}", value.Repr(r.Name))
			e.Line = r.line
			return e
		}
	}
	if _, _, err := s.Graph(); err != nil {
		return err
	}
	for _, r := range s.resources {
		for _, part := range []any{r.properties, r.metadata, r.updatePolicy, r.externalID} {
			if err := s.validate(part, schemas); err != nil {
				return err
			}
		}
	}
	for _, o := range s.outputs {
		if err := s.validate(o.value, schemas); err != nil {
			return err
		}
	}
	return nil
}
