package workers

// A fleet: hosts that come and go while their process runs, each the whole of a host.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
)

// Fleet are hosts that somebody else lists.
type Fleet struct {
	// Dir has a folder for each host, by its id. One that has a folder is known: it goes on
	// for as long as it is listed, and when it isn't until nothing on it is anybody's; then
	// it takes leave.
	Dir string
	// List gives the ids of the hosts that there are; known says of one whether it has a
	// folder.
	List func(ctx context.Context, known func(id string) bool) ([]string, error)
	// Host is the one of an id, all but for its folder.
	Host func(id string) HostSpec
}

// member is a host of the fleet that runs.
type member struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// over says whether it has ended by itself.
func (m member) over() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// fleet is one whose hosts run.
type fleet struct {
	*Fleet
	cfg       HostConfig
	transport http.RoundTripper
	members   map[string]member
}

// follow keeps the hosts running that are listed, until ctx ends.
func (f *Fleet) follow(ctx context.Context, cfg HostConfig, transport http.RoundTripper) {
	r := fleet{f, cfg, transport, map[string]member{}}
	every(ctx, cfg.Heartbeat, func() {
		if err := r.round(ctx); unlessEnded(ctx, err) != nil {
			cfg.Log.WarnContext(ctx, "the fleet is as it was", "error", err)
		}
	})
	for _, m := range r.members {
		<-m.ended
	}
}

// round keeps the hosts that are listed, and sees those off that aren't any more.
func (f *fleet) round(ctx context.Context) error {
	gone, err := f.folders()
	if err != nil {
		return err
	}
	ids, err := f.List(ctx, func(id string) bool { return gone[id] })
	if err != nil {
		return err
	}
	for _, id := range ids {
		delete(gone, id)
		f.keep(ctx, id)
	}
	for id := range gone {
		if err := f.seeOff(ctx, id); err != nil {
			f.cfg.Log.WarnContext(ctx, "a host that is gone can't take leave yet", "host_id", id, "error", err)
		}
	}
	return nil
}

// keep starts a host that doesn't run: one that has come, or has ended by itself.
func (f *fleet) keep(ctx context.Context, id string) {
	if m, runs := f.members[id]; runs && !m.over() {
		return
	}
	spec := f.Host(id)
	spec.StateDir = filepath.Join(f.Dir, id)
	own, stop := context.WithCancel(ctx)
	m := member{stop, make(chan struct{})}
	f.members[id] = m
	go func() {
		defer close(m.ended)
		defer stop()
		if err := runHost(own, f.cfg, spec, f.transport); unlessEnded(own, err) != nil {
			f.cfg.Log.ErrorContext(ctx, "the host has ended, and begins again", "host", spec.Name, "error", err)
		}
	}()
}

// seeOff has the API forget a host, which ends then; what it says before it has ended is
// forgotten by the next round, and holds nobody up. One on which something is somebody's
// goes on: who else would give that back?
func (f *fleet) seeOff(ctx context.Context, id string) error {
	link, err := hostlink.NewClient(f.cfg.LinkURL, id, f.cfg.Key, f.transport)
	if err == nil {
		err = link.Leave(ctx)
	}
	m, runs := f.members[id]
	switch {
	case faults.Is(err, faults.Conflict):
		f.keep(ctx, id)
		return nil
	case err != nil:
		return err
	case runs && !m.over():
		m.stop()
		return nil
	}
	delete(f.members, id)
	return os.RemoveAll(filepath.Join(f.Dir, id))
}

// folders are the ids of the hosts that are known.
func (f *Fleet) folders() (map[string]bool, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the fleet's folders: %w", err)
	}
	known := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() {
			known[e.Name()] = true
		}
	}
	return known, nil
}
