package workers

// What the workers of all roles have in common.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

const (
	// stopTimeout is what running activities get when a worker stops.
	stopTimeout = 20 * time.Second
	// deadlockTimeout is how long a workflow may compute without yielding; the
	// SDK's one second is short for a busy machine.
	deadlockTimeout = 5 * time.Second
)

func options(log *slog.Logger, metrics *StepMetrics) worker.Options {
	o := worker.Options{
		DeadlockDetectionTimeout:    deadlockTimeout,
		WorkerStopTimeout:           stopTimeout,
		DisableRegistrationAliasing: true,
		Interceptors:                []interceptor.WorkerInterceptor{&errorsOut{log: log}},
	}
	if metrics != nil {
		o.Interceptors = append(o.Interceptors, metrics)
	}
	return o
}

// calls are what steps have around them that call services and machines; hold is as in
// ControlConfig. Held or not, a step waits for the database within it.
func calls(hold func(ctx context.Context, resource, point string) error) []interceptor.WorkerInterceptor {
	all := []interceptor.WorkerInterceptor{&beats{every: beatEvery}}
	if hold != nil {
		all = append(all, &holds{at: hold})
	}
	return append(all, &outages{pause: awayPause})
}

// start makes workers until one starts: Temporal may be down for a while. The
// error is ctx's, or that of make.
func start(ctx context.Context, log *slog.Logger, make func() (worker.Worker, error)) (worker.Worker, error) {
	for wait := newBackoff(time.Second, 15*time.Second); ; {
		w, err := make()
		if err != nil {
			return nil, err
		}
		if err = w.Start(); err == nil {
			return w, nil
		}
		log.WarnContext(ctx, "the worker can't start yet", "error", err)
		if err := wait.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// serve runs a role's worker until ctx ends (nil) or the worker says, to fatal,
// that it has failed for good.
func serve(ctx context.Context, role Role, log *slog.Logger, newWorker func(fatal chan<- error) (worker.Worker, error)) error {
	fatal := make(chan error, 1)
	w, err := start(ctx, log, func() (worker.Worker, error) { return newWorker(fatal) })
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-fatal:
		return fmt.Errorf("%s worker: %w", role, err)
	}
}

// unlessEnded drops the error of something that was told to end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// backoff is a wait that doubles.
type backoff struct{ next, max time.Duration }

func newBackoff(first, max time.Duration) *backoff { return &backoff{first, max} }

func (b *backoff) pause(ctx context.Context) error {
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, b.max)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
