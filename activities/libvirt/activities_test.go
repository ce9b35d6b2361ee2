package libvirt_test

// Every step: run twice, interrupted at each sub-step and run again, killed at
// each sub-step and run again.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

const serverID = "11111111-2222-4333-8444-555555555555"

func token(generation int64, attempt int) steps.Token {
	return steps.Token{ServerID: serverID, OperationID: fmt.Sprintf("server/%s/op/%d", serverID, generation),
		Generation: generation, Attempt: attempt, Step: "guest"}
}

func spec() steps.ServerSpec {
	return steps.ServerSpec{ServerID: serverID, Hostname: "web", VCPUs: 1, MemoryMB: 512, RootGB: 1}
}

// host opens the activities of the host in dir.
func host(t testing.TB, dir string, o simulated.Options) *libvirt.Activities {
	t.Helper()
	o.StateDir = dir
	driver, err := simulated.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := libvirt.New(libvirt.Options{Driver: driver, StateDir: dir, Uploads: uploads(dir), Heartbeat: func(context.Context) {}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const imageID = "22222222-3333-4444-8555-666666666666"

// uploads is a Glance in a folder.
type uploads string

func (u uploads) file() string { return filepath.Join(string(u), "uploaded") }

func (u uploads) Upload(context.Context, string) (hostlink.Upload, error) {
	_, err := os.Stat(u.file())
	return hostlink.Upload{ImageID: imageID, Active: err == nil}, nil
}

func (u uploads) Send(_ context.Context, _ hostlink.Upload, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return statedir.Replace(u.file(), data)
}

// act is a step to be tested: what must be so before, and what is so after.
type act struct {
	name string
	// proves is the step that it is; empty for what is no step.
	proves string
	setUp  []string // names of acts
	run    func(context.Context, *libvirt.Activities) (any, error)
	want   any // its answer
	after  []libvirt.Guest
	// has is the attachment by which the guest has the volume; empty isn't looked at.
	has string
}

func power(action steps.PowerAction, generation int64) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		return a.Power(ctx, steps.PowerIn{Token: token(generation, 1), Action: action})
	}
}

var (
	volume = steps.Volume{ID: "0a6f3b1e-1111-4a4e-8b9a-0c2a47c2f6a1", AttachmentID: "old", Device: "vdb"}
	port   = steps.Port{ID: "0a6f3b1e-2222-4a4e-8b9a-0c2a47c2f6a1", VIFType: "bridge", Bridge: "br0"}
)

// has asks the host for a device without touching it.
func has(ctx context.Context, a *libvirt.Activities, id string) (any, error) {
	out, err := a.Unplug(ctx, steps.UnplugIn{Token: token(0, 0), ID: id, Look: true})
	return out.Left, err
}

func freeze(generation int64) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		return a.Power(ctx, steps.PowerIn{Token: token(generation, 1), Action: steps.PowerStop, Discarded: true})
	}
}

func plug(generation int64, in steps.PlugIn) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		in.Token = token(generation, 1)
		if _, err := a.Plug(ctx, in); err != nil {
			return nil, err
		}
		return has(ctx, a, libvirt.Device{Volume: in.Volume, Port: in.Port}.ID())
	}
}

func unplug(generation int64, id string) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		if out, err := a.Unplug(ctx, steps.UnplugIn{Token: token(generation, 1), ID: id}); err != nil || out.Left {
			return out.Left, err
		}
		return has(ctx, a, id)
	}
}

// swapTo is the volume that takes the other's place.
const swapTo = "0a6f3b1e-3333-4a4e-8b9a-0c2a47c2f6a1"

func rescue(generation int64) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		return a.Rescue(ctx, steps.RescueIn{Token: token(generation, 1), Rescue: steps.Rescue{ImageID: "tools"}})
	}
}

func rebuild(generation int64, off bool) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		return a.Rebuild(ctx, steps.RebuildIn{Token: token(generation, 1), Spec: spec(), Off: off})
	}
}

func resize(generation int64, in steps.ResizeIn) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		in.Token, in.Spec = token(generation, 1), spec()
		return a.Resize(ctx, in)
	}
}

func pay(kind operations.EffectKind, generation int64) func(context.Context, *libvirt.Activities) (any, error) {
	return func(ctx context.Context, a *libvirt.Activities) (any, error) {
		return nil, a.Pay(ctx, libvirt.Debt{Kind: kind, ServerID: serverID, Generation: generation, Attempt: 1})
	}
}

func one(state int) []libvirt.Guest {
	return []libvirt.Guest{{ServerID: serverID, PowerState: state}}
}

var acts = []act{
	{name: "build", proves: "libvirt.Build", want: steps.BuildOut{PowerState: libvirt.Running}, after: one(libvirt.Running),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return a.Build(ctx, steps.BuildIn{Token: token(1, 1), Spec: spec()})
		}},
	{name: "stop", proves: "libvirt.Power", setUp: []string{"build"}, run: power(steps.PowerStop, 2),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "start", proves: "libvirt.Power", setUp: []string{"build", "stop"}, run: power(steps.PowerStart, 3),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "reboot", proves: "libvirt.Power", setUp: []string{"build"}, run: power(steps.PowerReboot, 3),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "hard-reboot", proves: "libvirt.Power", setUp: []string{"build", "stop"}, run: power(steps.PowerHardReboot, 3),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "pause", proves: "libvirt.Power", setUp: []string{"build"}, run: power(steps.PowerPause, 3),
		want: steps.PowerOut{PowerState: libvirt.Paused}, after: one(libvirt.Paused)},
	{name: "freeze", proves: "libvirt.Power", setUp: []string{"build"}, run: freeze(3),
		want: steps.PowerOut{PowerState: libvirt.Paused}, after: one(libvirt.Paused)},
	{name: "freeze one that stands still", proves: "libvirt.Power", setUp: []string{"build", "stop"}, run: freeze(3),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "start a frozen one", proves: "libvirt.Power", setUp: []string{"build", "freeze"}, run: power(steps.PowerStart, 4),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "unpause", proves: "libvirt.Power", setUp: []string{"build", "pause"}, run: power(steps.PowerUnpause, 4),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "suspend", proves: "libvirt.Power", setUp: []string{"build"}, run: power(steps.PowerSuspend, 3),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Suspended)},
	{name: "resume", proves: "libvirt.Power", setUp: []string{"build", "suspend"}, run: power(steps.PowerResume, 4),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "plug a volume", proves: "libvirt.Plug", setUp: []string{"build"}, want: true, after: one(libvirt.Running), run: plug(2, steps.PlugIn{Volume: &volume})},
	{name: "plug a port", proves: "libvirt.Plug", setUp: []string{"build", "stop"}, want: true, after: one(libvirt.Shutdown), run: plug(3, steps.PlugIn{Port: &port})},
	{name: "unplug a volume", proves: "libvirt.Unplug", setUp: []string{"build", "plug a volume"}, want: false, after: one(libvirt.Running), run: unplug(3, volume.ID)},
	{name: "unplug a port", proves: "libvirt.Unplug", setUp: []string{"build", "stop", "plug a port"}, want: false, after: one(libvirt.Shutdown), run: unplug(4, port.ID)},
	{name: "unplug of no guest", proves: "libvirt.Unplug", want: false, after: []libvirt.Guest{}, run: unplug(1, volume.ID)},
	{name: "swap", proves: "libvirt.Swap", setUp: []string{"build", "plug a volume"}, want: struct{}{}, after: one(libvirt.Running), has: "new",
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			there := volume
			there.AttachmentID = "new"
			return a.Swap(ctx, steps.SwapIn{Token: token(3, 1), Volume: there, To: swapTo})
		}},
	{name: "undo a swap", proves: "libvirt.UndoSwap", setUp: []string{"build", "plug a volume", "swap"}, want: struct{}{}, after: one(libvirt.Running), has: "old",
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			// One that another swap has taken it from is not touched.
			if _, err := a.UndoSwap(ctx, steps.UndoSwapIn{Token: token(4, 1), From: "another"}); err != nil {
				return nil, err
			}
			return a.UndoSwap(ctx, steps.UndoSwapIn{Token: token(4, 1), From: swapTo})
		}},
	{name: "debt of a swap", setUp: []string{"build", "plug a volume", "swap", "stop after"}, want: nil, after: one(libvirt.Shutdown), has: "old",
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return nil, a.Pay(ctx, libvirt.Debt{Kind: operations.EffectSwapped, ServerID: serverID, Generation: 3, Attempt: 1, Device: swapTo})
		}},
	{name: "debt of a device", setUp: []string{"build", "plug a volume", "stop after"}, want: false, after: one(libvirt.Shutdown),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			if err := a.Pay(ctx, libvirt.Debt{ServerID: serverID, Generation: 2, Attempt: 1, Device: volume.ID}); err != nil {
				return nil, err
			}
			return has(ctx, a, volume.ID)
		}},
	{name: "stop after", proves: "libvirt.Power", setUp: []string{"build"}, run: power(steps.PowerStop, 5),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "snapshot", proves: "libvirt.Snapshot", setUp: []string{"build"}, want: struct{}{}, after: one(libvirt.Running),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return a.Snapshot(ctx, steps.SnapshotIn{Token: token(3, 1), ImageID: imageID})
		}},
	{name: "upload", proves: "libvirt.Upload", setUp: []string{"build", "snapshot"}, want: struct{}{}, after: one(libvirt.Running),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return a.Upload(ctx, steps.UploadIn{Token: token(3, 1), ImageID: imageID})
		}},
	{name: "drop-snapshot", proves: "libvirt.DropSnapshot", setUp: []string{"build", "snapshot"}, want: struct{}{}, after: one(libvirt.Running),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return a.DropSnapshot(ctx, steps.DropSnapshotIn{Token: token(4, 1)})
		}},
	{name: "debt of a copy", setUp: []string{"build", "snapshot"}, want: nil, after: one(libvirt.Running),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return nil, a.Pay(ctx, libvirt.Debt{Kind: operations.EffectSnapshotFile, ServerID: serverID, Generation: 3, Attempt: 1})
		}},
	{name: "rescue", proves: "libvirt.Rescue", setUp: []string{"build"}, run: rescue(3),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "rescue of one that is off", proves: "libvirt.Rescue", setUp: []string{"build", "stop"}, run: rescue(3),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "unrescue", proves: "libvirt.Power", setUp: []string{"build", "rescue"}, run: power(steps.PowerUnrescue, 4),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "undo of a rescue", proves: "libvirt.Power", setUp: []string{"build", "stop", "rescue of one that is off"}, run: power(steps.PowerUndoRescue, 3),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "debt of a rescue", setUp: []string{"build", "stop", "rescue of one that is off"}, want: nil, after: one(libvirt.Shutdown),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return nil, a.Pay(ctx, libvirt.Debt{Kind: operations.EffectRescue, ServerID: serverID, Generation: 3, Attempt: 1})
		}},
	{name: "image of a rebuild", proves: "libvirt.PrepareImage", setUp: []string{"build"}, want: struct{}{}, after: one(libvirt.Running),
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return a.PrepareImage(ctx, steps.PrepareImageIn{Token: token(3, 1), Spec: spec()})
		}},
	{name: "rebuild", proves: "libvirt.Rebuild", setUp: []string{"build"}, run: rebuild(3, false),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "rebuild of one that is off", proves: "libvirt.Rebuild", setUp: []string{"build", "stop"}, run: rebuild(3, true),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "resize", proves: "libvirt.Resize", setUp: []string{"build", "stop"}, run: resize(3, steps.ResizeIn{Aside: true}),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "resize of one that stays off", proves: "libvirt.Resize", setUp: []string{"build", "stop"}, run: resize(3, steps.ResizeIn{Off: true}),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "keep a resize", proves: "libvirt.Power", setUp: []string{"build", "stop", "resize"}, run: power(steps.PowerKeepResize, 4),
		want: steps.PowerOut{PowerState: libvirt.Running}, after: one(libvirt.Running)},
	{name: "undo of a resize", proves: "libvirt.Power", setUp: []string{"build", "stop", "resize"}, run: power(steps.PowerUndoResize, 4),
		want: steps.PowerOut{PowerState: libvirt.Shutdown}, after: one(libvirt.Shutdown)},
	{name: "debt of a resize", setUp: []string{"build", "stop", "resize"}, want: nil, after: one(libvirt.Shutdown), run: pay(operations.EffectResized, 3)},
	{name: "debt of what is aside", setUp: []string{"build", "stop", "resize"}, want: nil, after: one(libvirt.Running), run: pay(operations.EffectAside, 3)},
	{name: "debt of a stopped one", setUp: []string{"build", "stop"}, want: nil, after: one(libvirt.Running), run: pay(operations.EffectHalt, 2)},
	{name: "debt of a started one", setUp: []string{"build"}, want: nil, after: one(libvirt.Shutdown), run: pay(operations.EffectStarted, 1)},
	{name: "destroy", proves: "libvirt.Destroy", setUp: []string{"build"}, want: struct{}{}, after: []libvirt.Guest{},
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return a.Destroy(ctx, steps.DestroyIn{Token: token(5, 1)})
		}},
	{name: "debt", setUp: []string{"build"}, want: nil, after: []libvirt.Guest{},
		run: func(ctx context.Context, a *libvirt.Activities) (any, error) {
			return nil, a.Pay(ctx, libvirt.Debt{ServerID: serverID, Generation: 1, Attempt: 1})
		}},
}

func TestEveryStepHasAnAct(t *testing.T) {
	t.Parallel()
	// TestFetch and TestMigrate have the steps that take two hosts.
	proven := append([]string{"libvirt.Fetch"}, moved...)
	for _, c := range acts {
		if c.proves != "" {
			proven = append(proven, c.proves)
		}
	}
	activitytest.Covers(t, "libvirt", proven...)
}

func actNamed(name string) act {
	for _, a := range acts {
		if a.name == name {
			return a
		}
	}
	panic("no act " + name)
}

// ready makes a host on which the act can be run.
func (c act) ready(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range c.setUp {
		actNamed(name).must(t, host(t, dir, simulated.Options{}))
	}
	return dir
}

// must runs the act and checks its answer and the host.
func (c act) must(t testing.TB, a *libvirt.Activities) {
	t.Helper()
	got, err := c.run(context.Background(), a)
	if err != nil || !reflect.DeepEqual(got, c.want) {
		t.Fatalf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
	}
}

func (c act) check(t testing.TB, dir string) {
	t.Helper()
	driver, err := simulated.New(simulated.Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	guests, err := driver.List(context.Background())
	if err != nil || !reflect.DeepEqual(guests, c.after) {
		t.Fatalf("after %s: guests %+v, %v, want %+v", c.name, guests, err, c.after)
	}
	if got, err := driver.Attachment(serverID, volume.ID); c.has != "" && (err != nil || got != c.has) {
		t.Fatalf("after %s: the guest has the volume by %q, %v, want %q", c.name, got, err, c.has)
	}
}

// subSteps gives the names of the act's sub-steps.
func (c act) subSteps(t testing.TB) []string {
	t.Helper()
	var names []string
	dir := c.ready(t)
	c.must(t, host(t, dir, simulated.Options{OnStep: func(_, name string) { names = append(names, name) }}))
	if len(names) == 0 {
		t.Fatalf("%s has no sub-steps", c.name)
	}
	return names
}

func TestTwice(t *testing.T) {
	t.Parallel()
	for _, c := range acts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := c.ready(t)
			a := host(t, dir, simulated.Options{})
			c.must(t, a)
			c.must(t, a)
			c.must(t, host(t, dir, simulated.Options{}))
			c.check(t, dir)
		})
	}
}

func TestCancelledAtEachSubStep(t *testing.T) {
	t.Parallel()
	for _, c := range acts {
		for _, at := range c.subSteps(t) {
			t.Run(c.name+"/"+at, func(t *testing.T) {
				t.Parallel()
				dir := c.ready(t)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				_, err := c.run(ctx, host(t, dir, simulated.Options{OnStep: func(_, name string) {
					if name == at {
						cancel()
					}
				}}))
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("cancelled at %s: %v", at, err)
				}
				c.must(t, host(t, dir, simulated.Options{}))
				c.check(t, dir)
			})
		}
	}
}

// A build that was interrupted anywhere and then undone leaves nothing.
func TestInterruptedBuildUndone(t *testing.T) {
	t.Parallel()
	build := actNamed("build")
	for _, at := range build.subSteps(t) {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if _, err := build.run(ctx, host(t, dir, simulated.Options{OnStep: func(_, name string) {
				if name == at {
					cancel()
				}
			}})); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			undo := token(1, 1)
			undo.Step = "undo"
			a := host(t, dir, simulated.Options{})
			if _, err := a.Destroy(context.Background(), steps.DestroyIn{Token: undo}); err != nil {
				t.Fatal(err)
			}
			actNamed("destroy").check(t, dir)
			if _, err := build.run(context.Background(), a); !faults.Is(err, faults.Superseded) {
				t.Errorf("the undone build, late: %v, want superseded", err)
			}
			actNamed("destroy").check(t, dir)
		})
	}
}

// The helper process runs one act and kills itself with SIGKILL at a sub-step.
const (
	helperDir = "LIBVIRT_TEST_DIR"
	helperAct = "LIBVIRT_TEST_ACT"
	helperAt  = "LIBVIRT_TEST_AT"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(helperDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	driver, err := simulated.New(simulated.Options{StateDir: dir, OnStep: func(_, name string) {
		if name == os.Getenv(helperAt) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	if err == nil {
		var a *libvirt.Activities
		a, err = libvirt.New(libvirt.Options{Driver: driver, StateDir: dir, Uploads: uploads(dir), Heartbeat: func(context.Context) {}})
		if err == nil {
			_, err = actNamed(os.Getenv(helperAct)).run(context.Background(), a)
		}
	}
	fmt.Fprintln(os.Stderr, "not killed:", err)
	os.Exit(1)
}

func TestKilledAtEachSubStep(t *testing.T) {
	t.Parallel()
	for _, c := range acts {
		for _, at := range c.subSteps(t) {
			t.Run(c.name+"/"+at, func(t *testing.T) {
				t.Parallel()
				dir := c.ready(t)
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), helperDir+"="+dir, helperAct+"="+c.name, helperAt+"="+at)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("helper: %v\n%s", err, out)
				}
				c.must(t, host(t, dir, simulated.Options{}))
				c.check(t, dir)
			})
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a := host(t, t.TempDir(), simulated.Options{})
	if _, err := power(steps.PowerStop, 1)(ctx, a); !faults.Is(err, faults.NotFound) {
		t.Errorf("power of a guest that isn't there: %v, want not found", err)
	}
	if got, err := power(steps.PowerObserve, 1)(ctx, a); err != nil || got != (steps.PowerOut{Missing: true}) {
		t.Errorf("observe a guest that isn't there: %+v, %v", got, err)
	}
	in := steps.BuildIn{Token: token(2, 1), Spec: spec()}
	in.Spec.ServerID = "other"
	if _, err := a.Build(ctx, in); !faults.Is(err, faults.Invalid) {
		t.Errorf("a spec of another server: %v, want invalid", err)
	}
	in.Spec = spec()
	in.Spec.Name = string(make([]byte, 64<<10))
	if _, err := a.Build(ctx, in); !faults.Is(err, faults.Invalid) {
		t.Errorf("a large spec: %v, want invalid", err)
	}
	path := steps.Token{ServerID: "../x", Generation: 1}
	if _, err := a.Destroy(ctx, steps.DestroyIn{Token: path}); !faults.Is(err, faults.Invalid) {
		t.Errorf("a path for an id: %v, want invalid", err)
	}
	if _, err := power("explode", 3)(ctx, a); !faults.Is(err, faults.Invalid) {
		t.Errorf("an unknown action: %v, want invalid", err)
	}
}

// A fence that can't be read lets nobody near the server.
func TestUnreadableFence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := host(t, dir, simulated.Options{})
	if err := os.WriteFile(filepath.Join(dir, "fences", serverID+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"build", "stop", "destroy", "debt"} {
		if _, err := actNamed(name).run(context.Background(), a); !faults.Is(err, faults.Unavailable) {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
	actNamed("destroy").check(t, dir)
}
