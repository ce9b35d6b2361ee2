package hot

// The resource registry: what a type stands for, by name, by wildcard and for
// single resources; and the hooks and restrictions of resources.

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"holdfast.dev/internal/hot/value"
)

// Types says which types of resources there are.
type Types interface{ HasType(name string) bool }

// Registry is the resource_registry of an environment. The zero Registry is
// empty.
type Registry struct {
	// types are types and wildcards by name, resources the same and more for
	// single resources.
	types, resources *value.Map

	// known are settings that were looked up, by resource and name.
	mu    sync.Mutex
	known map[[2]string][]string
}

// forResources is the key of the part about single resources.
const forResources = "resources"

// The hooks, and the actions that can be restricted.
var (
	Hooks             = []string{"pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete"}
	RestrictedActions = []string{"update", "replace"}
)

// With is the registry with more entries; null takes away the entries that a
// name or wildcard matches.
func (r *Registry) With(entries *value.Map) (*Registry, error) {
	types, resources := r.types.Copy(), r.resources
	top, err := loadEntries(types, entries.Without(forResources), "")
	if err != nil {
		return nil, err
	}
	if v, there := entries.Get(forResources); there {
		more, ok := v.(*value.Map)
		if !ok {
			return nil, sectionError(entries, forResources, `resource_registry: "%s" must be a map`)
		}
		if resources, err = loadEntries(r.resources.Copy(), more, forResources); err != nil {
			return nil, err
		}
	}
	return &Registry{types: top, resources: resources}, nil
}

// loadEntries adds entries to a map that may be changed.
func loadEntries(into, entries *value.Map, where string) (*value.Map, error) {
	for i := range entries.Len() {
		key, v := entries.At(i)
		name := value.Str(key)
		path := join(where, name)
		switch x := v.(type) {
		case nil:
			into = withoutMatching(into, name)
			continue
		case *value.Map:
			old, _ := into.Get(name)
			inner, _ := old.(*value.Map)
			loaded, err := loadEntries(inner.Copy(), x, path)
			if err != nil {
				return nil, err
			}
			into.Set(name, loaded)
			continue
		case string:
			if name != "hooks" && name != "restricted_actions" {
				into.Set(name, x)
				continue
			}
		case []any:
		default:
			return nil, sectionError(entries, key, `resource_registry: "%s" must be the name of a type or a template`)
		}
		if err := checkResourceSetting(entries, name, v); err != nil {
			return nil, err
		}
		into.Set(name, v)
	}
	return into, nil
}

func withoutMatching(m *value.Map, name string) *value.Map {
	prefix, wild := strings.CutSuffix(name, "*")
	if !wild {
		return m.Without(name)
	}
	keys := []any{}
	for i := range m.Len() {
		key, v := m.At(i)
		if _, isText := v.(string); isText && strings.HasPrefix(value.Str(key), prefix) {
			keys = append(keys, key)
		}
	}
	return m.Without(keys...)
}

// checkResourceSetting checks hooks and restricted actions.
func checkResourceSetting(entries *value.Map, name string, v any) error {
	class, allowed, text := "", []string(nil), ""
	switch name {
	case "hooks":
		class, allowed = InvalidBreakPoint, Hooks
		text = `Invalid hook type "%s" for resource breakpoint, acceptable hook types are: ('%s')`
	case "restricted_actions":
		class, allowed = InvalidRestricted, RestrictedActions
		text = `Invalid restricted_action type "%s" for resource, acceptable restricted_action types are: ('%s')`
	default:
		return sectionError(entries, name, `resource_registry: "%s" must be the name of a type or a template`)
	}
	for _, item := range oneOrMany(v) {
		if setting, ok := item.(string); !ok || !slices.Contains(allowed, setting) {
			e := failf(class, text, value.Str(v), strings.Join(allowed, "', '"))
			e.Line = entries.LineOf(name)
			return e
		}
	}
	return nil
}

// oneOrMany is a list, or a list of the one value.
func oneOrMany(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// Map is the registry as it is kept and shown.
func (r *Registry) Map() *value.Map {
	m := value.NewMap(forResources, orEmpty(r.resources))
	for i := range r.types.Len() {
		key, v := r.types.At(i)
		m.Set(key, v)
	}
	return m
}

// isTemplate says whether a name is that of a template.
func isTemplate(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".template")
}

// Meaning is what a type stands for.
type Meaning struct {
	// Template is the name of the template of a nested stack, "" if it is a
	// plain type.
	Template string
	// Type is the type.
	Type string
}

// maxMappings is how many mappings may lead from a type to what it stands for.
const maxMappings = 20

// Find says what the type of a resource stands for: by the entries for the
// resource first, then by name, then by wildcards in their order.
func (r *Registry) Find(typ, resource string, types Types) (Meaning, error) {
	switch m, ok := r.find(typ, resource, types, 0); {
	case ok:
		return m, nil
	case typ == "":
		return Meaning{}, invalid("", `Resource "%s" has no type`, resource)
	}
	e := failf(NotFound, "The Resource Type (%s) could not be found.", value.Clip(typ, 255))
	e.Class = ValidationFailed
	return Meaning{}, e
}

func (r *Registry) find(typ, resource string, types Types, depth int) (Meaning, bool) {
	if depth > maxMappings {
		return Meaning{}, false
	}
	for _, target := range r.candidates(typ, resource) {
		if isTemplate(typ) {
			return Meaning{Template: typ, Type: typ}, true
		}
		if isTemplate(target) {
			return Meaning{Template: target, Type: typ}, true
		}
		if m, ok := r.find(target, resource, types, depth+1); ok {
			return m, true
		}
	}
	if isTemplate(typ) {
		return Meaning{Template: typ, Type: typ}, true
	}
	if types != nil && types.HasType(typ) {
		return Meaning{Type: typ}, true
	}
	return Meaning{}, false
}

// candidates are what the entries for a type map it to, the most specific
// first.
func (r *Registry) candidates(typ, resource string) []string {
	targets := []string{}
	if of, ok := argumentOf(orEmpty(r.resources), resource).(*value.Map); ok && resource != "" {
		if target, ok := argument(of, typ).(string); ok {
			targets = append(targets, target)
		}
	}
	matching := []string{}
	for i := range r.types.Len() {
		key, v := r.types.At(i)
		name, target := value.Str(key), value.Str(v)
		prefix, wild := strings.CutSuffix(name, "*")
		if _, isText := v.(string); isText && (name == typ || wild && typ != target && strings.HasPrefix(typ, prefix)) {
			matching = append(matching, name)
		}
	}
	sort.Strings(matching)
	for _, name := range matching {
		target := value.Str(argument(r.types, name))
		prefix, wild := strings.CutSuffix(name, "*")
		if before, both := strings.CutSuffix(target, "*"); wild && both && name != typ {
			target = before + strings.TrimPrefix(typ, prefix)
		}
		if target != typ {
			targets = append(targets, target)
		}
	}
	return targets
}

// settings are the hooks or restricted actions of a resource, by all names and
// patterns that match its name. There may be many of those: they are looked up once.
func (r *Registry) settings(resource, name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := [2]string{resource, name}
	if found, known := r.known[asked]; known {
		return found
	}
	found := []string{}
	for i := range r.resources.Len() {
		key, v := r.resources.At(i)
		of, ok := v.(*value.Map)
		if !ok || !of.Has(name) || !matchesName(value.Str(key), resource) {
			continue
		}
		for _, item := range oneOrMany(argument(of, name)) {
			if text := value.Str(item); !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	if r.known == nil {
		r.known = map[[2]string][]string{}
	}
	r.known[asked] = found
	return found
}

// HasHook says whether a resource has a hook.
func (r *Registry) HasHook(resource, hook string) bool {
	return slices.Contains(r.settings(resource, "hooks"), hook)
}

// Restricted are the actions that are refused for a resource.
func (r *Registry) Restricted(resource string) []string {
	return r.settings(resource, "restricted_actions")
}

// Sets says whether there are hooks or restricted_actions of any resource, here or
// in a nested stack.
func (r *Registry) Sets(name string) bool { return sets(r.resources, name) }

func sets(of *value.Map, name string) bool {
	for i := range of.Len() {
		key, v := of.At(i)
		inner, isMap := v.(*value.Map)
		if isMap && sets(inner, name) || !isMap && key == name {
			return true
		}
	}
	return false
}

// child is the registry of a nested stack.
func (r *Registry) child(without, resource string) *Registry {
	c := &Registry{types: orEmpty(r.types), resources: orEmpty(r.resources)}
	if without != "" {
		c.types = c.types.Without(without)
	}
	if resource == "" {
		return c
	}
	inner := &value.Map{}
	add := func(of *value.Map) {
		for i := range of.Len() {
			inner.Set(of.At(i))
		}
	}
	for i := range c.resources.Len() {
		key, v := c.resources.At(i)
		if of, ok := v.(*value.Map); ok && matchesName(value.Str(key), resource) {
			add(of)
		}
	}
	if own, ok := argumentOf(c.resources, resource).(*value.Map); ok {
		add(own)
	}
	c.resources = inner
	return c
}
