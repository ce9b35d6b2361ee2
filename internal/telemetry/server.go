package telemetry

// The HTTP face of metrics and health.

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves /metrics and /healthcheck.
func Handler(registry *prometheus.Registry, health *Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.Handle("GET /healthcheck", health)
	return mux
}

// ServeHTTP answers 200 when all that is vital is there, 503 otherwise, with
// the Report as JSON.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	report := h.Report(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if report.Status == "down" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := json.NewEncoder(w).Encode(report); err != nil {
		h.log.DebugContext(r.Context(), "the asker of /healthcheck has gone", "error", err)
	}
}
