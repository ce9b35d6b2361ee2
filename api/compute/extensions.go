package compute

// GET /extensions: what was an extension once and is always there now.

import (
	_ "embed"
	"encoding/json"
	"sync"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

//go:embed extensions.json
var extensionsText []byte

// extensions is the list, as the original answers it.
var extensions = sync.OnceValue(func() (all []map[string]any) {
	if err := json.Unmarshal(extensionsText, &all); err != nil {
		panic(err) // the file is the program's own
	}
	return all
})

func (a *API) listExtensions(*rest.Request) (*rest.Response, error) {
	return rest.JSON(map[string]any{"extensions": extensions()}), nil
}

func (a *API) showExtension(r *rest.Request) (*rest.Response, error) {
	for _, e := range extensions() {
		if e["alias"] == r.Param("id") {
			return rest.JSON(map[string]any{"extension": e}), nil
		}
	}
	return nil, faults.New(faults.NotFound, "ExtensionNotFound", "The resource could not be found.")
}
