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
	// for as long as it is listed, and when it isn't it takes leave.
	Dir string
	// List gives the hosts that there are, all but for their folders; known says of an id
	// whether it has one.
	List func(ctx context.Context, known func(id string) bool) ([]HostSpec, error)
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

// follow keeps the hosts running that are listed, until ctx ends.
func (f *Fleet) follow(ctx context.Context, cfg HostConfig, transport http.RoundTripper) {
	members := map[string]member{}
	every(ctx, cfg.Heartbeat, func() {
		if err := f.round(ctx, cfg, transport, members); unlessEnded(ctx, err) != nil {
			cfg.Log.WarnContext(ctx, "the fleet is as it was", "error", err)
		}
	})
	for _, m := range members {
		<-m.ended
	}
}

// round starts hosts that have come, or have ended by themselves, and sees those off that
// have gone. One that is listed again while it ends begins when it has.
func (f *Fleet) round(ctx context.Context, cfg HostConfig, transport http.RoundTripper, members map[string]member) error {
	folders, err := f.folders()
	if err != nil {
		return err
	}
	specs, err := f.List(ctx, func(id string) bool { return folders[id] })
	if err != nil {
		return err
	}
	for _, spec := range specs {
		delete(folders, spec.ID)
		if m, runs := members[spec.ID]; runs && !m.over() {
			continue
		}
		spec.StateDir = filepath.Join(f.Dir, spec.ID)
		members[spec.ID] = f.start(ctx, cfg, spec, transport)
	}
	for id := range folders {
		if m, runs := members[id]; runs {
			if m.stop(); !m.over() {
				continue // it takes leave in a round to come, and holds nobody up
			}
			delete(members, id)
		}
		if err := f.leave(ctx, cfg, id, transport); err != nil {
			cfg.Log.WarnContext(ctx, "a host that is gone can't take leave yet", "host_id", id, "error", err)
		}
	}
	return nil
}

func (f *Fleet) start(ctx context.Context, cfg HostConfig, spec HostSpec, transport http.RoundTripper) member {
	own, stop := context.WithCancel(ctx)
	m := member{stop, make(chan struct{})}
	go func() {
		defer close(m.ended)
		defer stop()
		if err := runHost(own, cfg, spec, transport); unlessEnded(own, err) != nil {
			cfg.Log.ErrorContext(ctx, "the host has ended, and begins again", "host", spec.Name, "error", err)
		}
	}()
	return m
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

// leave has the API forget a host that has ended. One with servers stays known, and down,
// until they are gone.
func (f *Fleet) leave(ctx context.Context, cfg HostConfig, id string, transport http.RoundTripper) error {
	link, err := hostlink.NewClient(cfg.LinkURL, id, cfg.Key, transport)
	if err == nil {
		err = link.Leave(ctx)
	}
	if faults.Is(err, faults.Conflict) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(f.Dir, id))
}
