package rest

// What is kept of each request: a line in the log and two metrics.

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(text []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(text)
	w.bytes += n
	return n, err
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// accessLog writes the request's line: the path without its query, since that
// may hold what isn't ours to keep.
func (s *Server) accessLog(w *recorder, r *http.Request, e *exchange, took time.Duration) {
	level := slog.LevelInfo
	if e.service == nil {
		level = slog.LevelDebug
	}
	s.Log.Log(r.Context(), level, "request",
		"method", r.Method, "path", e.path, "status", w.status, "bytes", w.bytes,
		"duration_ms", float64(took.Microseconds())/1000, "remote", e.remote,
		"user", e.identity.UserID, "project", e.identity.ProjectID)
}

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_api_requests_total",
			Help: "Requests answered, by service, operation and status.",
		}, []string{"service", "operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_api_request_seconds",
			Help:    "Time from a request's header to the end of its answer.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"service", "operation"}),
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.duration)
	}
	return m
}

// count uses the operation's row as label, never the path: ids would make a
// series each.
func (m *metrics) count(w *recorder, e *exchange, took time.Duration) {
	service, operation := "none", "none"
	if e.service != nil {
		service = e.service.Name
	}
	if e.operation != nil {
		operation = e.operation.Name()
	}
	m.requests.WithLabelValues(service, operation, strconv.Itoa(w.status)).Inc()
	m.duration.WithLabelValues(service, operation).Observe(took.Seconds())
}
