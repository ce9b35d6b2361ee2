package compute_test

// Every successful answer of the other tests is held against the response
// schema that the contract has for its operation and microversion.

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast.dev/internal/contracttest"
)

// responseContract is contracts/compute/response-schemas.json.
type responseContract struct {
	Operations []contractOperation
	Schemas    map[string]any

	compiler *jsonschema.Compiler
	mutex    sync.Mutex
}

type contractOperation struct {
	Method, Path, Action string
	Schemas              []struct {
		Min, Max string
		Schema   map[string]string
	}
}

var contract = sync.OnceValues(func() (*responseContract, error) {
	text, err := contracttest.Text("compute/response-schemas.json")
	if err != nil {
		return nil, err
	}
	// The references are into the file itself.
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	c := &responseContract{compiler: jsonschema.NewCompiler()}
	c.compiler.DefaultDraft(jsonschema.Draft7)
	// The originals take any ISO 8601 time (formats.json).
	c.compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: func(any) error { return nil }})
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	return c, c.compiler.AddResource("contract.json", document)
})

// checkAnswer holds a body against the contract's schema.
func checkAnswer(t *testing.T, method, path, action, version string, body any) {
	t.Helper()
	c, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	ref := c.find(method, path, action, minor(version))
	if ref == "" {
		return
	}
	c.mutex.Lock()
	schema, err := c.compiler.Compile("contract.json" + ref)
	c.mutex.Unlock()
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s %s at %s: %v", method, path, action, version, err)
	}
}

// find gives the reference of the schema that binds; empty if none does.
func (c *responseContract) find(method, path, action string, asked int) string {
	if asked == 0 {
		asked = 1
	}
	found := ""
	literal := -1
	for _, o := range c.Operations {
		if o.Method != method || o.Action != action || !samePath(o.Path, path) {
			continue
		}
		if n := strings.Count(o.Path, "/") - strings.Count(o.Path, "{"); n > literal {
			for _, s := range o.Schemas {
				if minor(s.Min) <= asked && (s.Max == "" || asked <= minor(s.Max)) && s.Min != "2.0" {
					found, literal = s.Schema["$ref"], n
				}
			}
		}
	}
	return found
}

func samePath(pattern, path string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

// actionOf is the key of an action's body.
func actionOf(path, body string) string {
	if !strings.HasSuffix(path, "/action") {
		return ""
	}
	var keys map[string]any
	if json.Unmarshal([]byte(body), &keys) != nil {
		return ""
	}
	for key := range keys {
		return key
	}
	return ""
}
