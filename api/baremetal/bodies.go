package baremetal

// Bodies: checked against the contract's schemas and read into rows.

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/validation"
	"holdfast.dev/schemas"
)

// body is a schema and the names of its properties.
type body struct {
	schema     *validation.Schema
	properties []string
}

// bodies are the schemas by their names.
var bodies = sync.OnceValues(func() (map[string]body, error) {
	text, _, err := pyjson.Parse(schemas.BaremetalBodies)
	if err != nil {
		return nil, fmt.Errorf("schemas/baremetal/bodies.json: %w", err)
	}
	sources, _ := text.(*pyjson.Object)
	all := map[string]body{}
	for _, name := range sources.Keys() {
		source, _ := sources.Get(name)
		schema, err := validation.Compile(source)
		if err != nil {
			return nil, fmt.Errorf("schemas/baremetal/bodies.json: %s: %w", name, err)
		}
		object, _ := source.(*pyjson.Object)
		properties, _ := object.Get("properties")
		of, _ := properties.(*pyjson.Object)
		all[name] = body{schema, of.Keys()}
	}
	return all, nil
})

// check validates a value; what is the name that the refusal has for it.
func check(schema, what string, value any) error {
	all, err := bodies()
	if err != nil {
		return err
	}
	f := all[schema].schema.Validate(value)
	if f == nil {
		return nil
	}
	message := fmt.Sprintf("Schema error for %s: %s", what, f.Message)
	cause := f.Cause
	for cause != nil && cause.Cause != nil {
		cause = cause.Cause
	}
	if cause != nil {
		message += ". Possible root cause: " + cause.Message
	}
	return invalid("%s", message)
}

// object is a body as an object, checked; one that was not sent is empty.
func object(r *rest.Request, schema, what string) (*pyjson.Object, error) {
	if r.Body() == nil {
		return nil, faults.New(faults.Invalid, "MissingParameterValue", "Missing mandatory parameter: %s", what)
	}
	if err := check(schema, what, r.Body()); err != nil {
		return nil, err
	}
	return r.Body().(*pyjson.Object), nil
}

// fill reads a checked document into a row: of its fields, those that the
// document names. Truth values may be words, ids must be UUIDs, and null is what
// a new row has.
func fill[T any](document *pyjson.Object, row *T) error {
	at, value := places[T](), reflect.ValueOf(row).Elem()
	for _, name := range document.Keys() {
		i, known := at[name]
		sent, _ := document.Get(name)
		if !known || sent == nil {
			continue
		}
		target := value.Field(i)
		if word, isText := sent.(string); isText {
			kind := target.Type()
			switch {
			case kind == reflect.TypeFor[bool]() || kind == reflect.TypeFor[*bool]():
				truth, err := boolean(name, word)
				if err != nil {
					return err
				}
				sent = truth
			case (name == "uuid" || strings.HasSuffix(name, "_uuid")) && !baremetal.IsUUID(word):
				return invalid("Expected UUID for %s: %s", name, word)
			}
		}
		text, err := json.Marshal(sent)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := json.Unmarshal(text, target.Addr().Interface()); err != nil {
			return invalid("Invalid value for %s: %s", name, pyjson.Repr(sent))
		}
	}
	return nil
}

// documentOf is a row as a document that a patch is carried out on.
func documentOf[T any](row *T) (*pyjson.Object, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("a row as a document: %w", err)
	}
	value, _, err := pyjson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("a row as a document: %w", err)
	}
	document, _ := value.(*pyjson.Object)
	return document, nil
}

// patched carries changes out on a row: what the schema knows of it is checked
// as a whole afterwards and read into fresh, whose fields are what those have
// that a patch removes.
func patched[T any](row *T, changes []change, schema string, fresh *T) error {
	document, err := documentOf(row)
	if err != nil {
		return err
	}
	return patchedAs(document, row, changes, schema, fresh)
}

// patchedAs is patched for a row that has a document of its own.
func patchedAs[T any](document *pyjson.Object, row *T, changes []change, schema string, fresh *T) error {
	if err := apply(document, changes); err != nil {
		return err
	}
	all, err := bodies()
	if err != nil {
		return err
	}
	for _, name := range slices.Clone(document.Keys()) {
		if !slices.Contains(all[schema].properties, name) {
			document.Delete(name)
		}
	}
	if err := check(schema, "patch", document); err != nil {
		return err
	}
	to, before := reflect.ValueOf(fresh).Elem(), reflect.ValueOf(row).Elem()
	// What the schema doesn't know is no patch's to change.
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		if !slices.Contains(all[schema].properties, name) {
			to.Field(i).Set(before.Field(i))
		}
	}
	if err := fill(document, fresh); err != nil {
		return err
	}
	settle(fresh)
	return nil
}

// settle makes every object and list of a row one that can be stored.
func settle[T any](row *T) {
	value := reflect.ValueOf(row).Elem()
	for i := range value.NumField() {
		switch field := value.Field(i).Addr().Interface().(type) {
		case *json.RawMessage:
			if len(*field) == 0 || string(*field) == "null" {
				*field = json.RawMessage(`{}`)
			}
		case *[]string:
			if *field == nil {
				*field = []string{}
			}
		}
	}
}
