package network

// Neutron's fault body.

import (
	"net/http"
	"strings"

	"holdfast.dev/dev/companions/service"
)

// writeFault writes {"NeutronError": {"type", "message", "detail"}}, but a 401
// as the token middleware in front of Neutron does.
func writeFault(w http.ResponseWriter, _ *http.Request, e *service.Error) {
	if e.Status == http.StatusUnauthorized {
		_ = service.JSON(w, e.Status, map[string]any{"error": map[string]any{
			"code": e.Status, "title": "Unauthorized", "message": e.Message}})
		return
	}
	kind := e.Type
	if kind == "" {
		kind = "HTTP" + strings.ReplaceAll(http.StatusText(e.Status), " ", "")
	}
	_ = service.JSON(w, e.Status, map[string]any{"NeutronError": map[string]any{
		"type": kind, "message": e.Message, "detail": ""}})
}

// invalid is a 400 about one attribute.
func invalid(attribute, format string, args ...any) error {
	e := service.Fail(http.StatusBadRequest, format, args...)
	e.Message = "Invalid input for " + attribute + ". Reason: " + e.Message
	return e
}

func badInput(format string, args ...any) error {
	e := service.Typed(http.StatusBadRequest, "InvalidInput", format, args...)
	e.Message = "Invalid input for operation: " + e.Message
	return e
}

func badRequest(format string, args ...any) error {
	return service.Typed(http.StatusBadRequest, "BadRequest", format, args...)
}

func conflict(kind, format string, args ...any) error {
	return service.Typed(http.StatusConflict, kind, format, args...)
}

// forbidden names the rules that the caller doesn't pass.
func forbidden(rules ...string) error {
	text := "rule:" + strings.Join(rules, " and rule:")
	if len(rules) > 1 {
		text = "(" + text + ")"
	}
	return service.Typed(http.StatusForbidden, "PolicyNotAuthorized", "%s is disallowed by policy", text)
}
