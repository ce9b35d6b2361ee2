package qemu

// Every act that was cancelled or killed at any of its sub-steps and is run
// again ends as if nothing had happened, and a build that is given up leaves
// nothing.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/internal/steps"
)

// full is a source with everything that a guest may have.
func full() *glance {
	g := blank()
	g.drive = map[string][]byte{"openstack/latest/meta_data.json": []byte(`{}`), "ec2/2009-04-04/meta-data.json": []byte(`{}`)}
	return g
}

// fullSpec has every kind of disk and a port.
func fullSpec() steps.ServerSpec {
	s := spec()
	s.SwapMB, s.EphemeralGB, s.ConfigDrive = 8, 1, true
	s.Ports = []steps.Port{{ID: s.ServerID, MAC: "fa:16:3e:00:00:01", VIFType: "bridge", Bridge: "brq" + s.ServerID[:11], MTU: 1450}}
	return s
}

// acts and where they lead to; all but build start from a guest that runs.
var acts = []struct {
	name string
	want int // -1 is gone
}{
	{"build", libvirt.Running}, {"destroy", -1}, {"stop", libvirt.Shutdown}, {"reboot", libvirt.Running}, {"hard-reboot", libvirt.Running},
	{"suspend", libvirt.Suspended}, {"pause", libvirt.Paused}, {"snapshot", libvirt.Running},
}

func check(t *testing.T, d *Driver, s steps.ServerSpec, want int) {
	t.Helper()
	guests, err := d.List(t.Context())
	wanted := []libvirt.Guest{{ServerID: s.ServerID, PowerState: want}}
	if want < 0 {
		wanted = []libvirt.Guest{}
		if _, err := net.InterfaceByName(domain.TapName(s.Ports[0].ID)); err == nil {
			t.Error("the tap is left")
		}
	} else if _, err := net.InterfaceByName(domain.TapName(s.Ports[0].ID)); (err == nil) != (want == libvirt.Running || want == libvirt.Paused) {
		t.Errorf("the tap: %v", err)
	}
	if err != nil || !slices.Equal(guests, wanted) {
		t.Errorf("guests %+v, %v, want %+v", guests, err, wanted)
	}
}

// each runs f for every sub-step of every act, on a host where the act can begin.
func each(t *testing.T, f func(t *testing.T, o order, at string, want int)) {
	for _, act := range acts {
		t.Run(act.name, func(t *testing.T) {
			t.Parallel()
			o := order{Dir: t.TempDir(), Act: act.name, Spec: fullSpec()}
			var names []string
			ready := func() {
				d := host(t, o.Dir, full(), nil)
				if act.name != "build" {
					if _, err := d.Build(t.Context(), o.Spec, confirmed); err != nil {
						t.Fatal(err)
					}
				}
			}
			ready()
			d := host(t, o.Dir, full(), func(_, step string) { names = append(names, step) })
			for range 2 {
				if err := o.run(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				check(t, d, o.Spec, act.want)
			}
			slices.Sort(names)
			names = slices.Compact(names)
			clean(t, host(t, o.Dir, full(), nil), o.Spec.ServerID)
			for _, at := range names {
				if strings.HasSuffix(at, ".done") {
					continue
				}
				o.Dir, o.Spec = t.TempDir(), fullSpec()
				ready()
				f(t, o, at, act.want)
				clean(t, host(t, o.Dir, full(), nil), o.Spec.ServerID)
			}
		})
	}
}

func TestKilledAtEachSubStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o order, at string, want int) {
		o.killedAt(t, at)
		d := host(t, o.Dir, full(), nil)
		if err := o.run(t.Context(), d); err != nil {
			t.Errorf("killed at %s, run again: %v", at, err)
		}
		check(t, d, o.Spec, want)
	})
}

func TestBuildGivenUp(t *testing.T) {
	t.Parallel()
	var names []string
	o := order{Dir: t.TempDir(), Act: "build", Spec: fullSpec()}
	if err := o.run(t.Context(), host(t, o.Dir, full(), func(_, step string) { names = append(names, step) })); err != nil {
		t.Fatal(err)
	}
	clean(t, host(t, o.Dir, full(), nil), o.Spec.ServerID)
	for _, at := range names {
		ctx, cancel := context.WithCancel(context.Background())
		err := o.run(ctx, host(t, o.Dir, full(), func(_, step string) {
			if step == at {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v", at, err)
		}
		cancel()
		d := host(t, o.Dir, full(), nil)
		clean(t, d, o.Spec.ServerID)
		check(t, d, o.Spec, -1)
	}
	if left, err := filepath.Glob(filepath.Join(o.Dir, "images", ".*")); err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}

// A fence that has risen stops an act before each line that it can't take back.
func TestRefused(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	refuse := func() error { return refused }
	d, s := host(t, t.TempDir(), full(), nil), fullSpec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, refuse); !errors.Is(err, refused) {
		t.Errorf("build: %v", err)
	}
	check(t, d, s, libvirt.Shutdown)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	for action := range actions {
		if slices.Contains([]steps.PowerAction{steps.PowerStart, steps.PowerUnpause, steps.PowerResume, steps.PowerKeepResize, steps.PowerUndoResize}, action) {
			continue // nothing to do; TestResizeRefused has those of a resize
		}
		if _, err := d.Power(t.Context(), s.ServerID, action, "mark", refuse); !errors.Is(err, refused) {
			t.Errorf("%s: %v", action, err)
		}
	}
	if err := d.Destroy(t.Context(), s.ServerID, refuse); !errors.Is(err, refused) {
		t.Errorf("destroy: %v", err)
	}
	check(t, d, s, libvirt.Running)
	if err := d.Destroy(t.Context(), s.ServerID, refuse); !errors.Is(err, refused) {
		t.Errorf("destroy: %v", err)
	}
}

// What Build makes, by name.
func TestFolder(t *testing.T) {
	t.Parallel()
	d, s := host(t, t.TempDir(), full(), nil), fullSpec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(d.dir, s.ServerID))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"base.raw", "console.log", "disk", "disk.config", "disk.eph0", "disk.swap", "guest.json"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v, want %v", names, err, want)
	}
	if info, err := os.Stat(filepath.Join(d.dir, s.ServerID, "disk.eph0")); err != nil || info.Size() != 1<<30 {
		t.Error(fmt.Sprint(info, err))
	}
}
