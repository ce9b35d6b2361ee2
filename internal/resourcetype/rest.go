package resourcetype

// REST: what is to be asked of a service's API for a resource, as data.

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/hot/value"
)

// REST says how resources of a type are made, changed, looked at and taken away
// by the API of a service. Its texts are expressions, see Scope.
type REST struct {
	// Service is the type of the service in the catalog.
	Service string `yaml:"service"`
	// Microversion is what the service is asked for; empty is its own choice.
	Microversion string `yaml:"microversion"`
	// Collection is the path of all resources of the type below the service's
	// endpoint, One the key of one in answers; empty is the whole answer.
	Collection string `yaml:"collection"`
	One        string `yaml:"one"`
	// Path is the path of one resource; empty is its id below the collection.
	Path string `yaml:"path"`
	// ID is the physical id, by the first of these texts whose properties are there;
	// none is the id in the answer to the first request. Reference is what
	// get_resource gives; empty is the physical id.
	ID        Texts  `yaml:"id"`
	Reference string `yaml:"reference"`
	// Lookups name the kinds of what properties name, where their constraints don't
	// or mean something else ("": nothing is looked up). A key is a path of
	// property names.
	Lookups map[string]string `yaml:"lookups"`
	// Find finds what an earlier Create has made and not told of.
	Find *Find `yaml:"find"`
	// Create, Update and Delete are the requests, one after the other. The first of
	// Create makes the resource, and the others may be sent again. Without Delete
	// the path of the resource is deleted.
	Create []*Request `yaml:"create"`
	// Settle are the requests of Create that are sent once it is ready.
	Settle []*Request `yaml:"settle"`
	Update []*Request `yaml:"update"`
	Delete []*Request `yaml:"delete"`
	// Keeps says that there is nothing to take away.
	Keeps bool `yaml:"keeps"`
	// Unseen says that one resource can't be looked at.
	Unseen bool `yaml:"unseen"`
	// Ready says when it may be used; nil is at once.
	Ready *Ready `yaml:"ready"`
	// Lingers says that it is there for a while after it was deleted.
	Lingers bool `yaml:"lingers"`
	// Attributes are those that are not the answer's own.
	Attributes map[string]*Value `yaml:"attributes"`
}

// Texts are one text or several.
type Texts []string

// UnmarshalYAML reads a text or a list of them.
func (t *Texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = Texts{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// Request is one request to the service.
type Request struct {
	Method, Path string
	Body         *Value
	// When is an expression: the request isn't sent if it gives nothing. Without is one:
	// it isn't sent if it gives something.
	When, Without string
	// Changed has an update send it only if one of these properties has changed;
	// OnlyChanged has only those fields be sent that have.
	Changed     []string
	OnlyChanged bool
	// Each is an expression that gives a list: it is sent for every item.
	Each string
	// Done are statuses that say that it was done before.
	Done []int
	// Unless are fields of the resource: it isn't sent if they are so already.
	Unless *Value
}

// Find is a list that a resource may be in.
type Find struct {
	Path string `yaml:"GET"`
	// In is the key of the list in the answer.
	In string `yaml:"in"`
	// Match says which fields have which values in what is looked for.
	Match map[string]*Value `yaml:"match"`
	// Noted says that others' may match too: what is in the list before anything is
	// made is noted, and isn't what an earlier Create has made.
	Noted bool `yaml:"noted"`
}

// Ready says by which field of a resource it is known how far it has come.
type Ready struct {
	Field string   `yaml:"field"`
	Done  []string `yaml:"done"`
	Fails []string `yaml:"fails"`
	// Gone are those of one that is deleted.
	Gone []string `yaml:"gone"`
	// Why is the field that says why it fails.
	Why string `yaml:"why"`
}

// Value is a value with expressions in its texts.
type Value struct{ template any }

// UnmarshalYAML reads any value, maps in their order.
func (v *Value) UnmarshalYAML(node *yaml.Node) (err error) {
	v.template, err = ordered(node)
	return err
}

// ordered is a node's value, with maps that keep their order.
func ordered(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.AliasNode:
		return ordered(node.Alias)
	case yaml.MappingNode:
		m := &value.Map{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			v, err := ordered(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			m.Set(node.Content[i].Value, v)
		}
		return m, nil
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			var err error
			if list[i], err = ordered(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	var v any
	if err := node.Decode(&v); err != nil {
		return nil, err
	}
	return value.Of(v), nil
}

// methods are those that requests may have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// UnmarshalYAML reads a request, whose path stands under its method.
func (r *Request) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: not a mapping", node.Line)
	}
	into := map[string]any{"when": &r.When, "without": &r.Without, "changed": &r.Changed, "only_changed": &r.OnlyChanged, "each": &r.Each, "done": &r.Done}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, v := node.Content[i].Value, node.Content[i+1]
		var err error
		switch {
		case slices.Contains(methods, key) && r.Method == "":
			r.Method, err = key, v.Decode(&r.Path)
		case key == "body":
			r.Body = &Value{}
			err = r.Body.UnmarshalYAML(v)
		case key == "unless":
			r.Unless = &Value{}
			err = r.Unless.UnmarshalYAML(v)
		case into[key] != nil:
			err = v.Decode(into[key])
		default:
			err = fmt.Errorf("line %d: %s is not known of a request", v.Line, key)
		}
		if err != nil {
			return err
		}
	}
	if r.Method == "" {
		return fmt.Errorf("line %d: a request has no method", node.Line)
	}
	return nil
}

// check says what of the mapping can't be: it names what there isn't.
func (r *REST) check(t *Type) error {
	switch {
	case r.Service == "":
		return fmt.Errorf("rest: it names no service")
	case len(r.Create) == 0:
		return fmt.Errorf("rest: nothing is created")
	case r.Collection == "" && r.Path == "" && !r.Unseen:
		return fmt.Errorf("rest: it has no collection and no path")
	}
	texts := []any{r.Collection, r.Path, value.Of([]string(r.ID)), r.Reference}
	for _, all := range [][]*Request{r.Create, r.Settle, r.Update, r.Delete} {
		for _, request := range all {
			texts = append(texts, request.Path, request.When, request.Without, request.Each)
			for _, v := range []*Value{request.Body, request.Unless} {
				if v != nil {
					texts = append(texts, v.template)
				}
			}
			for _, name := range request.Changed {
				texts = append(texts, "$("+name+")")
			}
		}
	}
	if r.Find != nil {
		texts = append(texts, r.Find.Path)
		for _, v := range r.Find.Match {
			texts = append(texts, v.template)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		if _, ok := t.Attributes.Get(name); !ok {
			return fmt.Errorf("rest: there is no attribute %s", name)
		}
		texts = append(texts, r.Attributes[name].template)
	}
	for _, name := range append(Names(texts), GoneNames(texts)...) {
		if _, ok := t.Properties.Get(name); !ok {
			return fmt.Errorf("rest: there is no property %s", name)
		}
	}
	return nil
}
