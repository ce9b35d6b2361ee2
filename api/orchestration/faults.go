package orchestration

// The words of Heat's faults (contracts: orchestration/errors.json).

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

// words are what the original says of a status, whatever has happened.
type words struct{ class, title, explanation string }

const badRequest = "The server could not comply with the request since it is either malformed or otherwise incorrect."

var statusWords = map[int]words{
	400: {"HTTPBadRequest", "Bad Request", badRequest},
	403: {"HTTPForbidden", "Forbidden", "Access was denied to this resource."},
	404: {"HTTPNotFound", "Not Found", "The resource could not be found."},
	405: {"HTTPMethodNotAllowed", "Method Not Allowed", badRequest},
	409: {"HTTPConflict", "Conflict", "There was a conflict when trying to complete your request."},
	500: {"HTTPInternalServerError", "Internal Server Error",
		"The server has either erred or is incapable of performing the requested operation."},
	503: {"HTTPServiceUnavailable", "Service Unavailable", "The server is currently unavailable. Please try again at a later time."},
}

type faultBody struct {
	Code        int        `json:"code"`
	Title       string     `json:"title"`
	Explanation string     `json:"explanation"`
	Error       faultError `json:"error"`
}

type faultError struct {
	Type      string  `json:"type"`
	Traceback *string `json:"traceback"`
	Message   string  `json:"message,omitempty"`
}

var heatFaults = rest.Faults{
	Status: map[faults.Kind]int{faults.OverLimit: 400},
	Classed: func(status int, class, message string) any {
		w, ok := statusWords[status]
		if !ok {
			w = statusWords[500]
		}
		if class == "" {
			class = w.class
		}
		return faultBody{status, w.title, w.explanation, faultError{Type: class, Message: message}}
	},
	Internal: func(string) string { return statusWords[500].explanation },
	// Keystone's middleware answers strangers, and not in Heat's form.
	Unauthorized: func(message string) any {
		return map[string]any{"error": map[string]any{"code": 401, "title": "Unauthorized", "message": message}}
	},
}

// invalid is a 400 of the API's own.
func invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, statusWords[400].class, format, args...)
}

// errForbidden is the answer to the path of a project that isn't the token's.
var errForbidden = faults.New(faults.Forbidden, statusWords[403].class, "%s", statusWords[403].explanation)

// errMalformed is the answer to a body that is none.
var errMalformed = invalid(badRequest)
