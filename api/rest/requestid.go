package rest

// Request ids: one of our own for every request, and the caller's global one.

import (
	"net/http"
	"regexp"

	"github.com/google/uuid"

	"holdfast.dev/internal/telemetry"
)

// headerRequestID carries the caller's global id in, and our own out.
const headerRequestID = "X-Openstack-Request-Id"

// globalID is what a caller may send; anything else is ignored, not refused.
var globalID = regexp.MustCompile(`^req-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// identify gives a request its ids, in its context, and tells the client its
// own, also by the service's header if it has one.
func identify(w http.ResponseWriter, r *http.Request, own string) *http.Request {
	ids := telemetry.IDs{Request: "req-" + uuid.NewString()}
	if sent := r.Header.Get(headerRequestID); globalID.MatchString(sent) {
		ids.GlobalRequest = sent
	}
	w.Header().Set(headerRequestID, ids.Request)
	if own != "" {
		w.Header().Set(own, ids.Request)
	}
	return r.WithContext(telemetry.With(r.Context(), ids))
}
