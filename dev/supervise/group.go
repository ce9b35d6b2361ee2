// A group: processes that are started one after the other and stopped the
// other way round.

package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Group starts and stops processes in order, with a line of progress for each.
type Group struct {
	// Progress gets the lines; nil throws them away.
	Progress io.Writer

	started []*Process
}

// Start starts the processes one after the other, each when the one before is
// ready. At the first failure it returns; what had been started runs until Stop.
func (g *Group) Start(ctx context.Context, processes ...*Process) error {
	for _, p := range processes {
		began := time.Now()
		if err := p.Start(ctx); err != nil {
			g.report("%-12s failed\n", p.Name)
			return err
		}
		g.started = append(g.started, p)
		g.report("%-12s ready after %.1f s, pid %d\n", p.Name, time.Since(began).Seconds(), p.State().Pid)
	}
	return nil
}

// Stop stops what Start has started, last first, each with the given timeout.
// It stops all of them whatever happens and returns what went wrong.
func (g *Group) Stop(timeout time.Duration) error {
	var errs []error
	for len(g.started) > 0 {
		p := g.started[len(g.started)-1]
		g.started = g.started[:len(g.started)-1]
		err := p.Stop(timeout)
		errs = append(errs, err)
		if err == nil {
			g.report("%-12s stopped\n", p.Name)
		}
	}
	return errors.Join(errs...)
}

// report is for a person to read; that it can't be written hurts nothing.
func (g *Group) report(format string, args ...any) {
	if g.Progress != nil {
		_, _ = fmt.Fprintf(g.Progress, format, args...)
	}
}
