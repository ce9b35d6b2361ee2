package provider

// The file, and which of what it says is whose.

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/faults"
)

// maxFile bounds a file, in bytes.
const maxFile = 1 << 20

// anyHost stands in a file for every host that it doesn't name.
const anyHost = "$COMPUTE_NODE"

// File is what a file says, in its order.
type File []entry

// entry is a provider: of the host with the id or the name, or of any.
type entry struct {
	path, id, name string
	Have
}

// Of gives what the file says of a host: what it says of it by id or name, or else of
// any host. faults.Invalid if it says something by both.
func (f File) Of(id, name string) (Have, error) {
	var found *entry
	for i, e := range f {
		switch {
		case e.id == anyHost && found == nil:
			found = &f[i]
		case e.id != id && e.name != name:
		case found != nil && found.id != anyHost:
			return Have{}, faults.New(faults.Invalid, "InvalidProviderFile", "%s and %s are both of the host %s, %s", found.path, e.path, name, id)
		default:
			found = &f[i]
		}
	}
	if found == nil {
		return Have{}, nil
	}
	return found.Have, nil
}

// Read reads the file called name: schema version 1.0 of Nova's provider.yaml.
// faults.Invalid names the path in it of what is wrong first; keys that the schema
// doesn't have are wrong too, but below meta.
func Read(name string, from io.Reader) (File, error) {
	r := reader{file: name}
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > maxFile:
		return nil, r.wrong("", "is longer than %d bytes", maxFile)
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, r.wrong("", "is no YAML: %v", err)
	}
	f := r.document(document)
	return f, r.err
}

// reader reads on after the first thing that is wrong, and keeps that.
type reader struct {
	file string
	err  error
}

func (r *reader) wrong(path, format string, args ...any) error {
	if r.err == nil {
		r.err = faults.New(faults.Invalid, "InvalidProviderFile", "%s: %s", r.file, strings.TrimSpace(path+" "+fmt.Sprintf(format, args...)))
	}
	return r.err
}

func (r *reader) document(value any) (f File) {
	top := r.object("the document", value, "meta", "providers")
	meta := r.object("meta", top["meta"])
	if version, ok := meta["schema_version"].(string); !ok || version != "1.0" {
		r.wrong("meta.schema_version", "is %v; '1.0' can be read, as a text", meta["schema_version"])
	}
	of := map[string]string{}
	for i, value := range r.list("providers", top["providers"]) {
		e := r.provider(fmt.Sprintf("providers[%d]", i), value)
		whose := cmp.Or(e.id, e.name)
		if first, twice := of[whose]; twice {
			r.wrong(e.path+".identification", "is that of %s too", first)
		}
		of[whose] = e.path
		f = append(f, e)
	}
	return f
}

func (r *reader) provider(path string, value any) entry {
	e := entry{path: path}
	top := r.object(path, value, "identification", "inventories", "traits")
	who := path + ".identification"
	identification := r.object(who, top["identification"], "uuid", "name")
	if len(identification) != 1 {
		r.wrong(who, "has not one of uuid and name")
	}
	for key, value := range identification {
		text, ok := value.(string)
		switch {
		case !ok || text == "" || len(text) > 200:
			r.wrong(who+"."+key, "is no text of up to 200 bytes")
		case key == "name":
			e.name = text
		case text == anyHost:
			e.id = anyHost
		case len(text) != 36 || uuid.Validate(text) != nil:
			r.wrong(who+"."+key, "is no UUID and not %s", anyHost)
		default:
			e.id = strings.ToLower(text)
		}
	}
	e.Inventories = r.inventories(path+".inventories", top)
	e.Traits = r.traits(path+".traits", top)
	return e
}

func (r *reader) inventories(path string, provider map[string]any) map[string]Inventory {
	all := map[string]Inventory{}
	for i, value := range r.additional(path, provider["inventories"]) {
		path := fmt.Sprintf("%s.additional[%d]", path, i)
		classes := r.object(path, value)
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			path := path + "." + class
			_, twice := all[class]
			switch {
			case !custom.MatchString(class):
				r.wrong(path, notCustom)
			case twice:
				r.wrong(path, "is said twice")
			}
			all[class] = r.inventory(path, classes[class])
		}
	}
	return all
}

func (r *reader) inventory(path string, value any) Inventory {
	keys := []string{"allocation_ratio"}
	for _, f := range whole {
		keys = append(keys, f.key)
	}
	fields, i := r.object(path, value, keys...), unsaid
	for _, f := range whole {
		switch n := fields[f.key].(type) {
		case int:
			*f.of(&i) = int64(n)
		case nil:
			if f.key == "total" {
				r.wrong(path+".total", "is missing")
			}
		default:
			r.wrong(path+"."+f.key, "is no whole number: %v", n)
		}
	}
	switch n := fields["allocation_ratio"].(type) {
	case int:
		i.Ratio = float64(n)
	case float64:
		i.Ratio = n
	case nil:
	default:
		r.wrong(path+".allocation_ratio", "is no number: %v", n)
	}
	if key, why := i.wrong(); key != "" {
		r.wrong(path+"."+key, "%s", why)
	}
	return i
}

func (r *reader) traits(path string, provider map[string]any) (traits []string) {
	for i, value := range r.additional(path, provider["traits"]) {
		trait, _ := value.(string)
		if path := fmt.Sprintf("%s.additional[%d]", path, i); !custom.MatchString(trait) {
			r.wrong(path, notCustom)
		} else if slices.Contains(traits, trait) {
			r.wrong(path, "is said twice")
		}
		traits = append(traits, trait)
	}
	return traits
}

// additional is the list below the one key that inventories and traits have; both may
// be missing.
func (r *reader) additional(path string, value any) []any {
	if value == nil {
		return nil
	}
	return r.list(path+".additional", r.object(path, value, "additional")["additional"])
}

// object reads an object with no other keys than these; none given is any.
func (r *reader) object(path string, value any, keys ...string) map[string]any {
	object, ok := value.(map[string]any)
	if !ok {
		r.wrong(path, "is no object")
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			r.wrong(path, "has a key %s; there are %s", key, strings.Join(keys, ", "))
		}
	}
	return object
}

// list reads a list, which may be missing.
func (r *reader) list(path string, value any) []any {
	list, ok := value.([]any)
	if !ok && value != nil {
		r.wrong(path, "is no list")
	}
	return list
}
