package workers_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workers"
)

// listed is who is in a fleet.
type listed struct {
	mu  sync.Mutex
	ids []string
	err error
	// slow is a host that doesn't end before lasts does.
	slow  string
	lasts context.Context
}

// lasting is the driver of a host that is slow to end.
type lasting struct {
	libvirt.Driver
	lasts context.Context
}

func (d lasting) Close() error {
	<-d.lasts.Done()
	return d.Driver.Close()
}

func (l *listed) set(err error, ids ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids, l.err = ids, err
}

func (l *listed) list(context.Context, func(string) bool) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids, l.err
}

func (l *listed) host(id string) workers.HostSpec {
	return workers.HostSpec{Name: "host-" + id, ID: id, Driver: "simulated",
		Open: func(dir string, _ *hostlink.Client) (libvirt.Driver, error) {
			d, err := simulated.New(simulated.Options{StateDir: dir})
			if id == l.slow {
				return lasting{d, l.lasts}, err
			}
			return d, err
		}}
}

// Hosts of a fleet serve for as long as they are listed, and take leave when they aren't,
// be it that their process was down at the time. One that can't be let go serves on, and
// one that is slow to end holds nobody up. What isn't a host's folder is left alone.
func TestFleet(t *testing.T) {
	t.Parallel()
	first, second, third := uuid.NewString(), uuid.NewString(), uuid.NewString()
	lasts, end := context.WithCancel(t.Context())
	defer end()
	s, dir, l := newSite(t), t.TempDir(), &listed{slow: second, lasts: lasts}
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.set(nil, first, second)
	run := func() (stop func()) {
		return background(t, func(ctx context.Context) error {
			cfg := s.config("", simulated.Options{}, slog.New(slog.DiscardHandler))
			cfg.Hosts, cfg.Fleet = nil, &workers.Fleet{Dir: dir, List: l.list, Host: l.host}
			return workers.Host(ctx, cfg)
		})
	}
	has := func(id string) bool {
		_, err := os.Stat(filepath.Join(dir, id))
		return err == nil
	}
	beats := func(more int) func() bool {
		var want int
		return func() bool {
			if want == 0 {
				want = len(s.beats) + more
			}
			return len(s.beats) >= want
		}
	}
	stop := run()
	s.wait(t, "both have registered", func() bool { return s.ids[first] && s.ids[second] })
	var built steps.BuildOut
	s.get(t, s.start(t, buildWorkflow, job{first, uuid.NewString()}), &built)
	if built.PowerState != libvirt.Running {
		t.Errorf("built %+v", built)
	}

	l.set(faults.New(faults.Unavailable, "Down", "nobody can list them"))
	s.wait(t, "they go on while nobody can list them", beats(6))
	if len(s.left) > 0 {
		t.Errorf("%v left", s.left)
	}
	l.set(nil, first)
	s.wait(t, "they go on beside one that ends", beats(6))
	l.set(nil, first, third)
	s.wait(t, "a third begins meanwhile", func() bool { return s.ids[third] })
	if !has(second) {
		t.Error("the second is gone before it has ended")
	}
	end()
	s.wait(t, "the second takes leave", func() bool { return slices.Contains(s.left, second) && !has(second) })
	if !has(first) {
		t.Error("the first is gone with it")
	}

	stop()
	s.mu.Lock()
	s.left, s.refuseLeave = nil, faults.New(faults.Conflict, "HostInUse", "there are servers on it")
	s.mu.Unlock()
	l.set(nil)
	stop = run()
	s.wait(t, "the first asks for leave after a start", func() bool { return slices.Contains(s.left, first) })
	if !has(first) {
		t.Error("one with servers isn't known any more")
	}
	var again steps.BuildOut
	s.get(t, s.start(t, buildWorkflow, job{first, uuid.NewString()}), &again)
	if again.PowerState != libvirt.Running {
		t.Errorf("what is asked of one with servers is %+v", again)
	}
	s.mu.Lock()
	s.refuseLeave = nil
	s.mu.Unlock()
	s.wait(t, "and goes when it may", func() bool { return !has(first) })
	l.set(nil, first)
	s.wait(t, "it comes back", func() bool { return has(first) })
	if !has("notes") || slices.Contains(s.left, "notes") {
		t.Errorf("a file among them is taken for a host: %v", s.left)
	}
	stop()
}
