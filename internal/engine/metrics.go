package engine

// Metrics of the engine: what is open in the database, asked at each scrape,
// and what this process has finished and how its loops are.

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"holdfast.dev/internal/operations"
)

// scrapeTime bounds what a scrape asks of the database.
const scrapeTime = 3 * time.Second

// Metrics is a prometheus.Collector of a control worker.
type Metrics struct {
	engine *Engine
	loops  *Loops
	// took is filled by Finished.
	took *prometheus.HistogramVec
}

var (
	openOperations = prometheus.NewDesc("holdfast_operations_open", "Operations that have not ended, by kind and state.", []string{"kind", "state"}, nil)
	openDebts      = prometheus.NewDesc("holdfast_debts", "Undos that hosts and services owe, by kind of effect.", []string{"kind"}, nil)
	loopsLeading   = prometheus.NewDesc("holdfast_loops_leading", "1 in the control worker that runs dispatcher and sweeper.", nil, nil)
	loopRound      = prometheus.NewDesc("holdfast_loop_last_round_seconds", "When the loop last got through a round, in seconds since 1970.", []string{"loop"}, nil)
	loopFailing    = prometheus.NewDesc("holdfast_loop_failing", "1 while the loop's rounds fail.", []string{"loop"}, nil)
	lostAlarm      = prometheus.NewDesc("holdfast_lost_workflows_alarm", "1 while many workflows are found lost: Temporal has lost its database.", nil, nil)
)

// NewMetrics makes the collector; loops are those of this process.
func (e *Engine) NewMetrics(loops *Loops) *Metrics {
	return &Metrics{engine: e, loops: loops, took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "holdfast_operation_seconds",
		Help:    "Time from an operation's acceptance to its end, of those that this worker has finished.",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600},
	}, []string{"kind", "result"})}
}

// Finished counts an operation that was accepted at created and has ended.
func (m *Metrics) Finished(kind operations.Kind, result operations.Result, created time.Time) {
	m.took.WithLabelValues(string(kind), string(result)).Observe(time.Since(created).Seconds())
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openOperations, openDebts, loopsLeading, loopRound, loopFailing, lostAlarm} {
		to <- d
	}
	m.took.Describe(to)
}

// Collect implements prometheus.Collector. With the database down, what is in it
// is left out.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.took.Collect(to)
	h := m.loops.Health()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(loopsLeading, truth(h.Leading))
	gauge(lostAlarm, truth(h.Alarm))
	for name, beat := range map[string]Beat{"dispatcher": h.Dispatcher, "sweeper": h.Sweeper} {
		if !beat.Last.IsZero() {
			gauge(loopRound, float64(beat.Last.UnixMilli())/1000, name)
		}
		gauge(loopFailing, truth(beat.Trouble != ""), name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	if err := m.fromDatabase(ctx, gauge); err != nil {
		slog.Warn("the engine's metrics can't be read", "error", err)
	}
}

func (m *Metrics) fromDatabase(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) error {
	rows, err := m.engine.db.Pool.Query(ctx, `
		SELECT 'operation', kind, CASE WHEN hold <> '' THEN 'held' WHEN dispatched_at IS NOT NULL THEN 'running'
			WHEN start_after IS NULL THEN 'waiting' ELSE 'pending' END, count(*)
		FROM engine.operations WHERE finished_at IS NULL GROUP BY 2, 3
		UNION ALL SELECT 'debt', kind, '', count(*) FROM engine.operation_effects WHERE state = 'owed' GROUP BY 2`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var what, kind, state string
		var n float64
		if err := rows.Scan(&what, &kind, &state, &n); err != nil {
			return err
		}
		if what == "debt" {
			gauge(openDebts, n, kind)
		} else {
			gauge(openOperations, n, kind, state)
		}
	}
	return rows.Err()
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
