package orchestration

// What the service says of itself.

import (
	"net/http"
	"runtime/debug"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
)

// listAPIVersions says which versions of the API there are.
func listAPIVersions(r *rest.Request) (*rest.Response, error) {
	version := map[string]any{"id": "v1.0", "status": "CURRENT", "links": []link{{r.Link(), "self"}}}
	return &rest.Response{Status: http.StatusMultipleChoices, Body: map[string]any{"versions": []any{version}}}, nil
}

func (a *API) buildInfo(*rest.Request) (*rest.Response, error) {
	revision := map[string]string{"revision": revision()}
	return rest.JSON(map[string]any{"api": revision, "engine": revision}), nil
}

func (a *API) listVersions(*rest.Request) (*rest.Response, error) {
	versions := []any{}
	for _, v := range hot.Versions() {
		versions = append(versions, map[string]any{"version": v.FullName(), "type": v.Type, "aliases": orEmpty(v.Aliases)})
	}
	return rest.JSON(map[string]any{"template_versions": versions}), nil
}

func (a *API) listFunctions(r *rest.Request) (*rest.Response, error) {
	withConditions, err := flag(r, "with_condition_func", false)
	if err != nil {
		return nil, err
	}
	name := r.Param("template_version")
	v, ok := hot.FindVersion(name)
	if !ok {
		return nil, faults.New(faults.NotFound, "NotFound", "Template with version %s not found", name)
	}
	names := v.Functions()
	if withConditions {
		names = v.ConditionFunctions()
	}
	functions := []any{}
	for _, name := range names {
		functions = append(functions, map[string]any{"functions": name, "description": nil})
	}
	return rest.JSON(map[string]any{"template_functions": functions}), nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// revision is what the program was built of.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
