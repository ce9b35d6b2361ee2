// Package telemetry is what a running process shows of itself: its log, its
// metrics and its health.
//
// log.go makes the logger and carries the ids of request, operation and
// resource in the context, so that every line has them; metrics.go holds the
// Prometheus registry; health.go asks the probes that main.go wires and says
// what is down; server.go serves /metrics and /healthcheck.
package telemetry
