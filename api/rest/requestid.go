package rest

// Request ids: one of our own for every request, and the caller's global one.

import (
	"net/http"
	"regexp"

	"github.com/google/uuid"

	"holdfast.dev/internal/telemetry"
)

// Headers that carry request ids.
const (
	// headerRequestID carries the caller's global id in, and our own out.
	headerRequestID = "X-Openstack-Request-Id"
	headerComputeID = "X-Compute-Request-Id"
)

// globalID is what a caller may send; anything else is ignored, not refused.
var globalID = regexp.MustCompile(`^req-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// identify gives a request its ids, in its context, and tells the client its own.
func identify(w http.ResponseWriter, r *http.Request) *http.Request {
	ids := telemetry.IDs{Request: "req-" + uuid.NewString()}
	if sent := r.Header.Get(headerRequestID); globalID.MatchString(sent) {
		ids.GlobalRequest = sent
	}
	w.Header().Set(headerRequestID, ids.Request)
	w.Header().Set(headerComputeID, ids.Request)
	return r.WithContext(telemetry.With(r.Context(), ids))
}
