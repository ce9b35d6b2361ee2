package baremetal

// The words of Ironic's faults (contracts/baremetal/errors.json): a JSON document
// as a text within a JSON document.

import (
	"encoding/json"
	"fmt"
	"net/http"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

// handlerFault is what a handler refuses or fails with.
type handlerFault struct {
	Code      string  `json:"faultcode"`
	String    string  `json:"faultstring"`
	DebugInfo *string `json:"debuginfo"`
}

// routingFault is what no handler has seen.
type routingFault struct {
	Code        int    `json:"code"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// wrapped puts a fault into its envelope.
func wrapped(inner any) any {
	text, err := json.Marshal(inner)
	if err != nil { // of texts and numbers there is nothing that can't be written
		return map[string]string{"error_message": http.StatusText(http.StatusInternalServerError)}
	}
	return map[string]string{"error_message": string(text)}
}

var ironicFaults = rest.Faults{
	Code: map[string]int{"NotAcceptable": 406},
	Body: func(status int, message string) any {
		code := "Server"
		if status < 500 {
			code = "Client"
		}
		return wrapped(handlerFault{Code: code, String: message})
	},
	Routing: func(status int, message string) any {
		return wrapped(routingFault{status, http.StatusText(status), message})
	},
	Internal: func(requestID string) string {
		return fmt.Sprintf("Unexpected API Error. The operator's log has it under %s.", requestID)
	},
	// Keystone's middleware answers strangers, and not in Ironic's form.
	Unauthorized: func(message string) any {
		return map[string]any{"error": map[string]any{"code": 401, "title": "Unauthorized", "message": message}}
	},
}

// invalid is bad input, in the original's words.
func invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidParameterValue", format, args...)
}

// notAcceptable is what the request's version doesn't have.
func notAcceptable() error {
	return faults.New(faults.Invalid, "NotAcceptable", "Request not acceptable.")
}

// notThere is a row that the request's version doesn't have, in the words of those that
// say no more.
func notThere() error { return faults.New(faults.NotFound, "NotFound", "Resource could not be found.") }

// notSupported is a row that the request's version doesn't have.
func notSupported() error {
	return faults.New(faults.NotFound, "NotFound", "The API is not supported for this version")
}

// refusal is an answer with a status of its own.
func refusal(status int, message string) error { return &rest.Fault{Status: status, Message: message} }

// asInvalid answers 400 to what isn't there where only the body names it.
func asInvalid(err error) error {
	if faults.Is(err, faults.NotFound) {
		f := faults.As(err)
		return faults.Wrap(err, faults.Invalid, f.Code, "%s", f.Message)
	}
	return err
}
