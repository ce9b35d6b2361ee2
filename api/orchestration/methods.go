package orchestration

// Methods that a path hasn't, and what OPTIONS says of those that it has.

import (
	"net/http"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
)

// methods are all there are, in the order in which they are told.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}

// overlaid are paths whose other methods another path takes.
var overlaid = []string{"/{tenant_id}/stacks/detail", "/{tenant_id}/stacks/preview"}

// refused are the rows of the methods that the paths of a table lack; that of the
// services has none, as in the original.
func (a *API) refused(rows []rest.Operation) (more []rest.Operation) {
	has := map[string][]string{}
	var paths []string
	for _, row := range rows {
		if row.Anonymous || row.Path == servicesPath {
			continue
		}
		if has[row.Path] == nil {
			paths = append(paths, row.Path)
		}
		has[row.Path] = append(has[row.Path], row.Method)
	}
	for _, path := range paths {
		var allowed []string
		for _, method := range methods {
			if slices.Contains(has[path], method) {
				allowed = append(allowed, method)
				continue
			}
			if slices.Contains(overlaid, path) {
				continue
			}
			refuse := rest.Operation{Method: method, Path: path, Success: http.StatusOK, Handler: notAllowed}
			if method == http.MethodPost && path == stackPath {
				refuse.Handler = a.lookupPart
				refuse = ofProject(refuse)
			}
			more = append(more, refuse)
		}
		allow := strings.Join(allowed, ",")
		more = append(more, rest.Operation{Method: http.MethodOptions, Path: path, Success: http.StatusNoContent, Handler: func(*rest.Request) (*rest.Response, error) {
			return (&rest.Response{}).WithHeader("Allow", allow), nil
		}})
	}
	return more
}

var notAllowed rest.Handler = func(*rest.Request) (*rest.Response, error) {
	return nil, rest.NewFault(http.StatusMethodNotAllowed, "%s", badRequest)
}

// lookupPart sends the caller of a stack's part on to the stack's own address, where
// its name alone stands in the path.
func (a *API) lookupPart(r *rest.Request) (*rest.Response, error) {
	if answer, is, err := a.redirected(r); is {
		return answer, err
	}
	return notAllowed(r)
}
