package hot

// Merging the files of environment_files, each parameter by its strategy.

import (
	"holdfast.dev/internal/hot/value"
)

// The strategies.
const (
	overwrite = "overwrite"
	merge     = "merge"
	deepMerge = "deep_merge"
)

// AllSchemas are the schemas of a template's parameters by name, and those of
// the templates among its files, which the template's own go before.
func (t *Template) AllSchemas(files map[string]string) (map[string]*Schema, error) {
	all := map[string]*Schema{}
	for _, text := range files {
		body, err := readMap(text, "", "not a map")
		if err != nil || !body.Has(keyHeat) && !body.Has(keyHOT) && !body.Has(keyAWS) {
			continue
		}
		nested, err := New(body)
		if err != nil {
			return nil, err
		}
		if err := nested.addSchemas(all); err != nil {
			return nil, err
		}
	}
	return all, t.addSchemas(all)
}

func (t *Template) addSchemas(all map[string]*Schema) error {
	schemas, err := t.Schemas()
	for _, s := range schemas {
		all[s.Name] = s
	}
	return err
}

// MergeFiles is an environment with the files of a request merged into it in
// their order.
func (e *Environment) MergeFiles(names []string, files map[string]string, schemas map[string]*Schema) (*Environment, error) {
	merged := *e
	strategies := map[string]string{}
	for _, name := range names {
		text, there := files[name]
		if !there {
			return nil, failf(ValueError, "the environment file %s is not among the files", value.Short(name, 255))
		}
		more, err := ParseEnvironment(text)
		if err != nil {
			return nil, err
		}
		m := merger{schemas: schemas, inFile: more.Strategies, chosen: strategies, file: name}
		if merged.Parameters, err = m.parameters(merged.Parameters, more.Parameters); err != nil {
			return nil, err
		}
		if merged.Defaults, err = m.parameters(merged.Defaults, more.Defaults); err != nil {
			return nil, err
		}
		merged.Encrypted = append(merged.Encrypted, more.Encrypted...)
		merged.Sinks = append(merged.Sinks, more.Sinks...)
		// A later file's entries go over those of the same name.
		if merged.Registry, err = (&Registry{}).With(replacing(merged.Registry.Map(), more.Registry.Map())); err != nil {
			return nil, err
		}
	}
	return &merged, nil
}

// replacing is a registry's map with the entries of another in place of those
// of the same name.
func replacing(under, over *value.Map) *value.Map {
	if resources, ok := argument(over, forResources).(*value.Map); !ok || resources.Len() == 0 {
		over = over.Without(forResources)
	}
	return overlaid(under, over)
}

type merger struct {
	schemas map[string]*Schema
	inFile  *value.Map
	// chosen are the strategies that earlier files chose.
	chosen map[string]string
	file   string
}

func known(strategy any) (string, bool) {
	text, _ := strategy.(string)
	return text, text == overwrite || text == merge || text == deepMerge
}

// strategy is how a parameter is merged.
func (m merger) strategy(name string) string {
	otherwise, ok := known(argument(m.inFile, "default"))
	if !ok {
		otherwise = overwrite
	}
	if own, there := m.inFile.Get(name); there {
		if s, ok := known(own); ok {
			return s
		}
		return otherwise
	}
	if s, there := m.chosen[name]; there {
		return s
	}
	return otherwise
}

func (m merger) parameters(old, more *value.Map) (*value.Map, error) {
	for i := range more.Len() {
		key, v := more.At(i)
		name := value.Str(key)
		if m.schemas[name] == nil || v == nil {
			continue
		}
		strategy := m.strategy(name)
		switch chosen, there := m.chosen[name]; {
		case !there:
			m.chosen[name] = strategy
		case chosen != strategy:
			e := failf(ConflictingMerge, "Conflicting merge strategy '%s' for parameter '%s' in file '%s'.", strategy, name, m.file)
			e.Line = more.LineOf(key)
			return nil, e
		}
	}
	if old.Len() == 0 {
		return more, nil
	}
	merged := old.Copy()
	for i := range more.Len() {
		key, v := more.At(i)
		schema := m.schemas[value.Str(key)]
		if schema == nil || v == nil {
			continue
		}
		if m.chosen[schema.Name] != overwrite {
			before, _ := old.Get(key)
			put, err := mergeParameter(schema, before, v, m.chosen[schema.Name] == deepMerge)
			if err != nil {
				at := *asError(err)
				at.Line = more.LineOf(key)
				return nil, &at
			}
			v = put
		}
		merged.Set(key, v)
	}
	return merged, nil
}

// mergeParameter puts two values of a parameter together.
func mergeParameter(schema *Schema, old, v any, deep bool) (any, error) {
	bad := func(why string) error { return failf(ValueError, "Invalid parameter in environment %s.", why) }
	if schema.Type == "Json" {
		maps := [2]*value.Map{}
		for i, side := range []any{old, v} {
			if text, isText := side.(string); isText && text != "" {
				parsed, err := value.ParseJSON(text)
				if err != nil {
					return nil, bad(err.Error())
				}
				side = parsed
			}
			m, ok := side.(*value.Map)
			if !ok && value.Truth(side) {
				return nil, bad("a map is expected, not a " + value.TypeName(side))
			}
			maps[i] = orEmpty(m)
		}
		return mergeMaps(maps[0], maps[1], deep), nil
	}
	switch schema.Type {
	case "CommaDelimitedList":
		return mergeLists(old, v)
	case "String":
		after, ok := v.(string)
		before, isText := old.(string)
		if !ok || old != nil && !isText {
			return nil, bad("texts are expected")
		}
		return before + after, nil
	case "Number":
		return nil, bad("")
	}
	return nil, failf(InvalidMerge, "Invalid merge strategy '%s' for parameter '%s'.", merge, schema.Name)
}

func mergeLists(old, v any) (any, error) {
	if !value.Truth(old) {
		return v, nil
	}
	switch after := v.(type) {
	case []any:
		if before, ok := old.([]any); ok {
			return append(append([]any{}, before...), after...), nil
		}
	case string:
		if before, ok := old.(string); ok {
			return before + "," + after, nil
		}
	}
	return nil, failf(ValueError, "Invalid parameter in environment: a %s can't be merged with a %s.", value.TypeName(old), value.TypeName(v))
}

// mergeMaps sets the keys of a map in another; in depth, what is a map or a
// list in both is merged too, and texts are put together.
func mergeMaps(old, more *value.Map, deep bool) *value.Map {
	merged := old.Copy()
	for i := range more.Len() {
		key, v := more.At(i)
		before, _ := old.Get(key)
		switch after := v.(type) {
		case nil:
			continue
		case *value.Map:
			if m, ok := before.(*value.Map); ok && deep {
				v = mergeMaps(m, after, true)
			}
		case []any:
			if list, ok := before.([]any); ok && deep {
				v = append(append([]any{}, list...), after...)
			}
		case string:
			if text, ok := before.(string); ok && deep {
				v = text + after
			}
		}
		merged.Set(key, v)
	}
	return merged
}
