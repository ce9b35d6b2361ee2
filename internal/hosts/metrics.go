package hosts

// Metrics of hosts, asked of the database at each scrape.

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Metrics is a prometheus.Collector of a control worker.
type Metrics struct {
	DB *store.DB
	// DownAfter is the silence after which a host counts as down.
	DownAfter time.Duration
}

var (
	hostUp      = prometheus.NewDesc("holdfast_host_up", "1 for a host that was heard of lately and is not declared down.", []string{"host"}, nil)
	hostServers = prometheus.NewDesc("holdfast_host_servers", "Servers that have room on the host.", []string{"host"}, nil)
)

// Describe implements prometheus.Collector.
func (m Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- hostUp
	to <- hostServers
}

// Collect implements prometheus.Collector. With the database down it says nothing.
func (m Metrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	all, err := compute.ListHosts(ctx, m.DB.Pool, compute.HostFilter{})
	if err != nil {
		slog.Warn("the hosts' metrics can't be read", "error", err)
		return
	}
	for _, h := range all {
		up := 0.0
		if h.Up(m.DownAfter) {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(hostUp, prometheus.GaugeValue, up, h.Name)
		to <- prometheus.MustNewConstMetric(hostServers, prometheus.GaugeValue, float64(h.Servers), h.Name)
	}
}
