package compute

// The data that the handlers look things up in. It is part of the program, and
// read at start-up: rest.New returns what is wrong with it.

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"holdfast.dev/internal/extraspecs"
	"holdfast.dev/internal/validation"
	"holdfast.dev/schemas"
)

//go:embed extensions.json
var extensionsText []byte

//go:embed image_properties.json
var imagePropertiesText []byte

// tables are all of them.
type tables struct {
	// requests are the schemas of bodies and queries.
	requests *validation.Set
	// extraSpecs judges those of flavors.
	extraSpecs *extraspecs.Table
	// extensions is the answer to GET /extensions.
	extensions []map[string]any
	// imageProperties are those that servers show of their image (contracts:
	// image-properties.json).
	imageProperties map[string]bool
}

// embedded reads the tables once a process.
var embedded = sync.OnceValues(func() (*tables, error) {
	t := &tables{imageProperties: map[string]bool{}}
	var names []string
	var wrong [4]error
	t.requests, wrong[0] = validation.Load(schemas.ComputeRequests)
	t.extraSpecs, wrong[1] = extraspecs.Load()
	wrong[2] = json.Unmarshal(extensionsText, &t.extensions)
	wrong[3] = json.Unmarshal(imagePropertiesText, &names)
	for _, name := range names {
		t.imageProperties[name] = true
	}
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, fmt.Errorf("the tables of the compute service: %w", err)
	}
	return t, nil
})

// requestSchemas is the part of the tables that the REST engine reads.
func requestSchemas() (*validation.Set, error) {
	t, err := embedded()
	if err != nil {
		return nil, err
	}
	return t.requests, nil
}
