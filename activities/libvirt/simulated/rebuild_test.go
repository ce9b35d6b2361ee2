package simulated

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/steps"
)

// A rebuilt guest has new disks and another name; its ephemeral ones stay if that
// is asked for, and one that was off stays off. A second call for the same mark
// changes nothing.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   steps.RebuildIn
		want int
		kept bool
	}{
		"anew":            {steps.RebuildIn{}, libvirt.Running, false},
		"left off":        {steps.RebuildIn{Off: true}, libvirt.Shutdown, false},
		"keeps ephemeral": {steps.RebuildIn{KeepEphemeral: true}, libvirt.Running, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := open(t, Options{StateDir: dir})
			if err := buildWithDisks(t, d); err != nil {
				t.Fatal(err)
			}
			content := mark(t, dir)
			c.in.Spec = rebuilt(d, t)
			for range 2 {
				if guest, err := d.Rebuild(t.Context(), c.in, "first", confirmed); err != nil || guest.PowerState != c.want {
					t.Fatalf("%+v, %v", guest, err)
				}
			}
			content(false, c.kept)
			mark(t, dir)
			if _, err := d.Rebuild(t.Context(), c.in, "first", confirmed); err != nil {
				t.Fatal(err)
			}
			content(true, true)
		})
	}
}

// One that was cut short anywhere goes on when it is run again, or when the guest
// is started by a hard reboot.
func TestRebuildInterrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"rebuild.begin", "rebuild.disk", "rebuild.start", "rebuild.done"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var stop context.CancelFunc
			d := open(t, Options{StateDir: dir, Hold: func(_ context.Context, _, step string) error {
				if step == at && stop != nil {
					stop()
				}
				return nil
			}})
			if err := buildWithDisks(t, d); err != nil {
				t.Fatal(err)
			}
			content := mark(t, dir)
			in := steps.RebuildIn{Spec: rebuilt(d, t)}
			var ctx context.Context
			ctx, stop = context.WithCancel(t.Context())
			if _, err := d.Rebuild(ctx, in, "first", confirmed); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v, want cancelled", err)
			}
			stop = nil
			begun := at != "rebuild.begin"
			if guest, err := d.Power(t.Context(), id, steps.PowerHardReboot, "reboot", confirmed); err != nil || guest.PowerState != libvirt.Running {
				t.Fatalf("%+v, %v", guest, err)
			}
			content(!begun, !begun)
			if guest, err := d.Rebuild(t.Context(), in, "first", confirmed); err != nil || guest.PowerState != libvirt.Running {
				t.Fatalf("again: %+v, %v", guest, err)
			}
			content(false, false)
		})
	}
}

// buildWithDisks makes a guest with a root disk and an ephemeral one.
func buildWithDisks(t *testing.T, d *Driver) error {
	t.Helper()
	_, err := d.Build(t.Context(), steps.ServerSpec{ServerID: id, Hostname: "web", ImageID: "image", RootGB: 1, EphemeralGB: 1}, confirmed)
	return err
}

// rebuilt is the guest's spec under another name.
func rebuilt(d *Driver, t *testing.T) steps.ServerSpec {
	t.Helper()
	f, err := d.folder(id)
	if err != nil {
		t.Fatal(err)
	}
	have, err := f.domain()
	if err != nil {
		t.Fatal(err)
	}
	have.Spec.Name, have.Spec.Hostname = "anew", "anew"
	return have.Spec
}

// mark writes to the guest's disks, and gives a check of which still have it.
func mark(t *testing.T, dir string) func(root, ephemeral bool) {
	t.Helper()
	files := map[bool][]string{}
	for _, kind := range []steps.DiskKind{steps.DiskRoot, steps.DiskEphemeral} {
		paths, err := filepath.Glob(filepath.Join(dir, "guests", id, "disk.*."+string(kind)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files[kind == steps.DiskRoot] = paths
	}
	if len(files[true]) != 1 || len(files[false]) != 1 {
		t.Fatalf("the guest's disks are %v", files)
	}
	return func(root, ephemeral bool) {
		t.Helper()
		for isRoot, want := range map[bool]bool{true: root, false: ephemeral} {
			if data, err := os.ReadFile(files[isRoot][0]); err != nil || (string(data) == "old") != want {
				t.Errorf("%s has %q (%v), old: %t wanted", files[isRoot][0], data, err, want)
			}
		}
	}
}
