package workers

// How long steps take, and how they end.

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// NewStepMetrics counts the steps that a process takes, on all its workers.
func NewStepMetrics(registry prometheus.Registerer) *StepMetrics {
	m := &StepMetrics{took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "holdfast_step_seconds",
		Help:    "Time that an attempt at a step took, by step and result (done or failed).",
		Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1200},
	}, []string{"step", "result"})}
	registry.MustRegister(m.took)
	return m
}

// StepMetrics is an interceptor of workers.
type StepMetrics struct {
	interceptor.WorkerInterceptorBase
	took *prometheus.HistogramVec
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (m *StepMetrics) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &measured{interceptor.ActivityInboundInterceptorBase{Next: next}, m.took}
}

type measured struct {
	interceptor.ActivityInboundInterceptorBase
	took *prometheus.HistogramVec
}

func (a *measured) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (out any, err error) {
	began := time.Now()
	defer func() {
		result := "done"
		if err != nil {
			result = "failed"
		}
		a.took.WithLabelValues(activity.GetInfo(ctx).ActivityType.Name, result).Observe(time.Since(began).Seconds())
	}()
	return a.Next.ExecuteActivity(ctx, in)
}
