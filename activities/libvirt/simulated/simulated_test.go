package simulated

// What the driver does beyond what every driver does: rules, console, limits.
// That steps can be run twice and killed anywhere is tested in the folder above.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

const id = "11111111-2222-4333-8444-555555555555"

func confirmed() error { return nil }

func open(t *testing.T, o Options) *Driver {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func build(t *testing.T, d *Driver, specs map[string]string) error {
	t.Helper()
	_, err := d.Build(t.Context(), steps.ServerSpec{ServerID: id, Hostname: "web", ExtraSpecs: specs}, confirmed)
	return err
}

func TestParseRules(t *testing.T) {
	t.Parallel()
	r, err := parseRules(" build.start=unavailable:2, power.stop=internal ", "build.image=1500ms,build.disk=hang,")
	want := rules{
		fail:  map[string]failure{"build.start": {faults.Unavailable, 2}, "power.stop": {faults.Internal, 0}},
		delay: map[string]time.Duration{"build.image": 1500 * time.Millisecond, "build.disk": hang},
	}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v, want %+v", r, err, want)
	}
	for _, c := range [][2]string{{"build.start", ""}, {"build.start=explode", ""}, {"build.start=internal:0", ""},
		{"build.start=internal:x", ""}, {"", "build.start"}, {"", "build.start=soon"}, {"", "build.start=-1s"}} {
		if _, err := parseRules(c[0], c[1]); err == nil {
			t.Errorf("rules %q are taken", c)
		}
		if _, err := New(Options{StateDir: t.TempDir(), Fail: c[0], Delay: c[1]}); err == nil {
			t.Errorf("options %q are taken", c)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	t.Run("counted over restarts", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		var kinds []faults.Kind
		for range 4 {
			kind := faults.Kind("")
			if err := build(t, open(t, Options{StateDir: dir}), map[string]string{failKey: "build.start=unavailable:2"}); err != nil {
				kind = faults.As(err).Kind
			}
			kinds = append(kinds, kind)
		}
		if want := []faults.Kind{faults.Unavailable, faults.Unavailable, "", ""}; !slices.Equal(kinds, want) {
			t.Errorf("builds end with %q, want %q", kinds, want)
		}
	})
	t.Run("the last that names a sub-step counts", func(t *testing.T) {
		t.Parallel()
		d := open(t, Options{Fail: "build.image=internal"})
		if err := build(t, d, nil); !faults.Is(err, faults.Internal) {
			t.Errorf("by options: %v", err)
		}
		if err := os.WriteFile(d.rulesFile, []byte(`{"fail":"build.image=no_capacity"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := build(t, d, nil); !faults.Is(err, faults.NoCapacity) {
			t.Errorf("by file: %v", err)
		}
		if err := build(t, d, map[string]string{failKey: "build.image=invalid"}); !faults.Is(err, faults.Invalid) {
			t.Errorf("by flavor: %v", err)
		}
	})
	t.Run("a flavor's last as long as its guest", func(t *testing.T) {
		t.Parallel()
		d := open(t, Options{})
		if err := build(t, d, map[string]string{failKey: "power.stop=unavailable:1,destroy.disk=unavailable:1"}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			if _, err := d.Power(t.Context(), id, steps.PowerStop, "", confirmed); faults.Is(err, faults.Unavailable) != want {
				t.Errorf("stop: %v, want a failure: %v", err, want)
			}
		}
		for _, want := range []bool{true, false} {
			if err := d.Destroy(t.Context(), id, confirmed); faults.Is(err, faults.Unavailable) != want {
				t.Errorf("destroy: %v, want a failure: %v", err, want)
			}
		}
		if guests, err := d.List(t.Context()); err != nil || len(guests) != 0 {
			t.Errorf("guests %v, %v, want none", guests, err)
		}
	})
	t.Run("rules that are none", func(t *testing.T) {
		t.Parallel()
		d := open(t, Options{})
		if err := build(t, d, map[string]string{delayKey: "soon"}); !faults.Is(err, faults.Invalid) {
			t.Errorf("by flavor: %v, want invalid", err)
		}
		if err := os.WriteFile(d.rulesFile, []byte(`{`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := build(t, d, nil); !faults.Is(err, faults.Internal) {
			t.Errorf("by file: %v, want internal", err)
		}
	})
}

func TestHangEndsWithItsContext(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	d := open(t, Options{Delay: "build.disk=hang", OnStep: func(_, step string) {
		if step == "build.disk" {
			close(began)
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := d.Build(ctx, steps.ServerSpec{ServerID: id}, confirmed)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("build: %v, want cancelled", err)
	}
	if guests, err := d.List(t.Context()); err != nil || !slices.Equal(guests, []libvirt.Guest{{ServerID: id}}) {
		t.Errorf("guests %v, %v, want the half-made one", guests, err)
	}
}

// Without a confirm nothing is crossed.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	d, refused := open(t, Options{}), errors.New("refused")
	refuse := func() error { return refused }
	state := func() int {
		t.Helper()
		guest, err := d.Observe(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return guest.PowerState
	}
	if _, err := d.Build(t.Context(), steps.ServerSpec{ServerID: id}, refuse); !errors.Is(err, refused) || state() != libvirt.Shutdown {
		t.Errorf("build: %v, state %d", err, state())
	}
	if err := build(t, d, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Destroy(t.Context(), id, refuse); !errors.Is(err, refused) || state() != libvirt.Running {
		t.Errorf("destroy: %v, state %d", err, state())
	}
	if _, err := d.Power(t.Context(), id, steps.PowerStop, "", refuse); !errors.Is(err, refused) || state() != libvirt.Running {
		t.Errorf("stop: %v, state %d", err, state())
	}
}

// Every action from every state: where it leads, or that it is refused.
func TestPowerTable(t *testing.T) {
	t.Parallel()
	const no = -1
	states := []int{libvirt.Running, libvirt.Paused, libvirt.Shutdown, libvirt.Crashed, libvirt.Suspended}
	want := map[steps.PowerAction][]int{
		steps.PowerStart:      {1, 1, 1, 1, 1},
		steps.PowerStop:       {4, 4, 4, 4, 4},
		steps.PowerPause:      {3, 3, no, no, no},
		steps.PowerFreeze:     {3, 3, 4, 6, 7},
		steps.PowerUnpause:    {1, 1, no, no, no},
		steps.PowerSuspend:    {7, no, no, no, 7},
		steps.PowerResume:     {1, no, no, no, 1},
		steps.PowerReboot:     {1, no, no, no, no},
		steps.PowerHardReboot: {1, 1, 1, 1, 1},
		steps.PowerInjectNMI:  {1, 3, no, no, no},
	}
	for action, ends := range want {
		for i, from := range states {
			d := open(t, Options{})
			f, err := d.folder(id)
			if err == nil {
				err = os.Mkdir(string(f), 0o700)
			}
			if err == nil {
				err = f.define(&domain{PowerState: from})
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Power(t.Context(), id, action, "mark", confirmed)
			if refused := faults.Is(err, faults.Conflict); refused != (ends[i] == no) || !refused && (err != nil || got.PowerState != ends[i]) {
				t.Errorf("%s from %d: %+v, %v, want %d", action, from, got, err, ends[i])
			}
		}
	}
}

// A rescued guest runs from the image; unrescued it runs from its own disk, and
// taken back it is as it was. The rescue's disk is gone either way.
func TestRescue(t *testing.T) {
	t.Parallel()
	from := steps.Rescue{ImageID: "tools"}
	for name, c := range map[string]struct {
		before, after []steps.PowerAction
		rescued       bool
		want          int
		log           string
	}{
		"running, unrescued":     {nil, []steps.PowerAction{steps.PowerUnrescue}, true, libvirt.Running, "booted web\nbooted the rescue image tools\nbooted web\n"},
		"running, taken back":    {nil, []steps.PowerAction{steps.PowerUndoRescue}, true, libvirt.Running, "booted web\nbooted the rescue image tools\nbooted web\n"},
		"stopped, unrescued":     {[]steps.PowerAction{steps.PowerStop}, []steps.PowerAction{steps.PowerUnrescue}, true, libvirt.Running, "booted web\nstop\nbooted the rescue image tools\nbooted web\n"},
		"stopped, taken back":    {[]steps.PowerAction{steps.PowerStop}, []steps.PowerAction{steps.PowerUndoRescue}, true, libvirt.Shutdown, "booted web\nstop\nbooted the rescue image tools\nstopped\n"},
		"not yet, taken back":    {nil, []steps.PowerAction{steps.PowerUndoRescue}, false, libvirt.Running, "booted web\n"},
		"never, unrescued twice": {nil, []steps.PowerAction{steps.PowerUnrescue, steps.PowerUnrescue}, false, libvirt.Running, "booted web\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := open(t, Options{StateDir: dir})
			if err := build(t, d, nil); err != nil {
				t.Fatal(err)
			}
			power := func(actions []steps.PowerAction) (guest libvirt.Guest) {
				t.Helper()
				for _, action := range actions {
					for range 2 {
						var err error
						if guest, err = d.Power(t.Context(), id, action, "", confirmed); err != nil {
							t.Fatal(err)
						}
					}
				}
				return guest
			}
			power(c.before)
			if c.rescued {
				for range 2 {
					if guest, err := d.Rescue(t.Context(), id, from, confirmed); err != nil || guest.PowerState != libvirt.Running {
						t.Fatalf("%+v, %v", guest, err)
					}
				}
			}
			if guest := power(c.after); guest.PowerState != c.want {
				t.Errorf("power %d, want %d", guest.PowerState, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "guests", id, rescueDisk)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the rescue's disk: %v", err)
			}
			if log, err := d.Console(t.Context(), id, -1); err != nil || string(log) != c.log {
				t.Errorf("console %q, %v, want %q", log, err, c.log)
			}
		})
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	if _, err := d.Diagnostics(t.Context(), id); !faults.Is(err, faults.NotFound) {
		t.Errorf("of none: %v", err)
	}
	spec := steps.ServerSpec{ServerID: id, VCPUs: 2, MemoryMB: 64, ImageID: "i", Ports: []steps.Port{{MAC: "fa:16:3e:00:00:01"}}}
	if _, err := d.Build(t.Context(), spec, confirmed); err != nil {
		t.Fatal(err)
	}
	said, err := d.Diagnostics(t.Context(), id)
	if err != nil || said.PowerState != 1 || said.MemoryKB != 64<<10 || len(said.CPUs) != 2 || len(said.Disks) != 1 || said.NICs[0].MACAddress != "fa:16:3e:00:00:01" {
		t.Errorf("%+v, %v", said, err)
	}
	if _, err := d.Power(t.Context(), id, steps.PowerStop, "", confirmed); err != nil {
		t.Fatal(err)
	}
	if said, err := d.Diagnostics(t.Context(), id); err != nil || said.PowerState != 4 || said.CPUs != nil {
		t.Errorf("off: %+v, %v", said, err)
	}
}

// A reboot is done once for its mark, and again for another.
func TestRebootMarks(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	if err := build(t, d, nil); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"a", "a", "b"} {
		if _, err := d.Power(t.Context(), id, steps.PowerReboot, mark, confirmed); err != nil {
			t.Fatal(err)
		}
	}
	log, err := d.Console(t.Context(), id, -1)
	if want := "booted web\nreboot\nreboot\n"; err != nil || string(log) != want {
		t.Errorf("console %q, %v, want %q", log, err, want)
	}
	if log, err := d.Console(t.Context(), id, 7); err != nil || string(log) != "reboot\n" {
		t.Errorf("its last 7 bytes: %q, %v", log, err)
	}
}

func TestConsoleIsBounded(t *testing.T) {
	t.Parallel()
	f := folder(t.TempDir())
	line := strings.Repeat("x", 999)
	for range 200 {
		if err := f.say(line); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(string(f), "console.log"))
	if err != nil || info.Size() > maxConsole {
		t.Errorf("the log has %d bytes, %v, want at most %d", info.Size(), err, maxConsole)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	if _, err := d.Observe(t.Context(), id); !faults.Is(err, faults.NotFound) {
		t.Errorf("observe: %v", err)
	}
	if _, err := d.Console(t.Context(), id, -1); !faults.Is(err, faults.NotFound) {
		t.Errorf("console: %v", err)
	}
	if err := d.Destroy(t.Context(), id, confirmed); err != nil {
		t.Errorf("destroy: %v", err)
	}
	for _, path := range []string{"", "..", "a/b", ".hidden"} {
		if _, err := d.Console(t.Context(), path, -1); !faults.Is(err, faults.Invalid) {
			t.Errorf("id %q: %v, want invalid", path, err)
		}
	}
}

// A guest has a file for each disk on its host, and none for what is elsewhere.
func TestDisks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, Options{StateDir: dir})
	files := func() string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, "guests", id, "disk.*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		return strings.Join(found, " ")
	}
	for _, c := range []struct {
		spec steps.ServerSpec
		want string
	}{
		{steps.ServerSpec{ImageID: "i", RootGB: 1}, "disk.0.root"},
		{steps.ServerSpec{ImageID: "i", EphemeralGB: 1, SwapMB: 1}, "disk.0.root disk.1.ephemeral disk.2.swap"},
		{steps.ServerSpec{Disks: []steps.Disk{{Kind: steps.DiskEphemeral}, {Kind: steps.DiskEphemeral}}}, "disk.0.ephemeral disk.1.ephemeral"},
		{steps.ServerSpec{Volumes: []steps.Volume{{ID: "v", Boot: true}}}, ""},
	} {
		c.spec.ServerID = id
		for range 2 {
			if _, err := d.Build(t.Context(), c.spec, confirmed); err != nil {
				t.Fatal(err)
			}
		}
		if got := files(); got != c.want {
			t.Errorf("%+v has %q, want %q", c.spec, got, c.want)
		}
		if err := d.Destroy(t.Context(), id, confirmed); err != nil || files() != "" {
			t.Errorf("destroyed, it has %q (%v)", files(), err)
		}
	}
}
