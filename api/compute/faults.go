package compute

// The words of Nova's faults (contracts/compute/errors.json).

import (
	"fmt"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

// faultNames are the keys of fault bodies by status; others are computeFault.
var faultNames = map[int]string{
	400: "badRequest",
	401: "unauthorized",
	403: "forbidden",
	404: "itemNotFound",
	405: "badMethod",
	409: "conflictingRequest",
	413: "overLimit",
	415: "badMediaType",
	429: "overLimit",
	501: "notImplemented",
	503: "serviceUnavailable",
}

type faultBody struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

var novaFaults = rest.Faults{
	// Quota is 403 in Nova, whatever its exception's own code says.
	Status:      map[faults.Kind]int{faults.OverLimit: 403},
	ContentType: "application/json; charset=UTF-8",
	Body: func(status int, message string) any {
		name, ok := faultNames[status]
		if !ok {
			name = "computeFault"
		}
		return map[string]faultBody{name: {status, message}}
	},
	Internal: func(requestID string) string {
		return fmt.Sprintf("Unexpected API Error. The operator's log has it under %s.", requestID)
	},
	// Keystone's middleware answers strangers, and not in Nova's form.
	Unauthorized: func(message string) any {
		return map[string]any{"error": map[string]any{"code": 401, "title": "Unauthorized", "message": message}}
	},
}
