package service

// Work in the background that is written down in the database.

import (
	"context"
	"time"
)

// Work is done when somebody says that there is some, and from time to time.
type Work struct{ wake chan struct{} }

// NewWork has nothing to do yet.
func NewWork() Work { return Work{make(chan struct{}, 1)} }

// Wake says that there is work; it never blocks.
func (w Work) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run does what there is until ctx ends, and looks again after pause. Failed is
// told of errors.
func (w Work) Run(ctx context.Context, pause time.Duration, do func(context.Context) error, failed func(error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		if err := do(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		timer.Reset(pause)
	}
}
