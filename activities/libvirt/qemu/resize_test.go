package qemu

// Resizes on a real libvirtd, on the host where the guest is.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// written is a record that only the guest's own disk has.
const written = "written before the resize"

// ephemeralMarked builds a guest, ends it, and writes at the start of its
// ephemeral disk.
func ephemeralMarked(t *testing.T, d *Driver, s steps.ServerSpec) {
	t.Helper()
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Power(t.Context(), s.ServerID, steps.PowerForceStop, "stop", confirmed); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(d.dir, s.ServerID, ephemeralFile(0)), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(written)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// has checks what the guest is made of: its memory in libvirt, and its record.
func has(t *testing.T, d *Driver, s steps.ServerSpec, memoryMB int) {
	t.Helper()
	g, err := d.guest(s.ServerID)
	if err != nil {
		t.Fatal(err)
	}
	described, err := g.described(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(described.Memory.Value) >> 10; got != memoryMB || described.Memory.Unit != "KiB" {
		t.Errorf("memory %d %s, want %d MiB", got, described.Memory.Unit, memoryMB)
	}
	text := make([]byte, len(written))
	file, err := os.Open(g.file(ephemeralFile(0)))
	if err == nil {
		_, err = file.Read(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil || string(text) != written {
		t.Errorf("the disk begins with %q, %v", text, err)
	}
	if aside, err := filepath.Glob(g.file(asidePrefix + "*")); err != nil || len(aside) > 0 {
		t.Errorf("left aside: %v, %v", aside, err)
	}
}

// A resize that was interrupted anywhere goes on when it is run again. Kept, the
// guest is of the new size; undone, from wherever it has come to, it is what it
// was and stands still. What it has written is there each time.
func TestResize(t *testing.T) {
	t.Parallel()
	var all []string
	{
		d, s := host(t, t.TempDir(), blank(), func(_, step string) { all = append(all, step) }), spec()
		s.EphemeralGB = 1
		defer clean(t, d, s.ServerID)
		ephemeralMarked(t, d, s)
		all = nil
		larger := s
		larger.MemoryMB *= 2
		if _, err := d.Resize(t.Context(), steps.ResizeIn{Spec: larger, Aside: true}, "first", confirmed); err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			t.Fatal("a resize has no sub-steps")
		}
	}
	for _, at := range all {
		for _, end := range []steps.PowerAction{steps.PowerKeepResize, steps.PowerUndoResize} {
			t.Run(at+"/"+string(end), func(t *testing.T) {
				t.Parallel()
				var stop context.CancelFunc
				d, s := host(t, t.TempDir(), blank(), func(_, step string) {
					if step == at && stop != nil {
						stop()
					}
				}), spec()
				s.EphemeralGB = 1
				defer clean(t, d, s.ServerID)
				ephemeralMarked(t, d, s)
				in := steps.ResizeIn{Spec: s, Aside: true}
				in.Spec.MemoryMB *= 2
				var ctx context.Context
				ctx, stop = context.WithCancel(t.Context())
				if _, err := d.Resize(ctx, in, "first", confirmed); !errors.Is(err, context.Canceled) {
					t.Fatalf("%v, want cancelled", err)
				}
				stop = nil
				want, memory := libvirt.Shutdown, s.MemoryMB
				if end == steps.PowerKeepResize {
					want, memory = libvirt.Running, in.Spec.MemoryMB
					for range 2 {
						if got, err := d.Resize(t.Context(), in, "first", confirmed); err != nil || got.PowerState != want {
							t.Fatalf("again: %+v, %v", got, err)
						}
					}
				}
				for range 2 {
					if got, err := d.Power(t.Context(), s.ServerID, end, "end", confirmed); err != nil || got.PowerState != want {
						t.Fatalf("%s: %+v, %v, want power %d", end, got, err, want)
					}
				}
				has(t, d, s, memory)
			})
		}
	}
}

// A fence that has risen keeps the guest as it is, and what is set aside there.
func TestResizeRefused(t *testing.T) {
	t.Parallel()
	refused := faults.New(faults.Superseded, "Superseded", "refused")
	refuse := func() error { return refused }
	d, s := host(t, t.TempDir(), blank(), nil), spec()
	s.EphemeralGB = 1
	defer clean(t, d, s.ServerID)
	ephemeralMarked(t, d, s)
	in := steps.ResizeIn{Spec: s, Aside: true}
	in.Spec.MemoryMB *= 2
	if _, err := d.Resize(t.Context(), in, "first", refuse); !errors.Is(err, refused) {
		t.Errorf("resize: %v", err)
	}
	has(t, d, s, s.MemoryMB)
	if _, err := d.Resize(t.Context(), in, "first", confirmed); err != nil {
		t.Fatal(err)
	}
	for _, end := range []steps.PowerAction{steps.PowerKeepResize, steps.PowerUndoResize} {
		if _, err := d.Power(t.Context(), s.ServerID, end, "end", refuse); !errors.Is(err, refused) {
			t.Errorf("%s: %v", end, err)
		}
	}
	if _, err := os.Stat(filepath.Join(d.dir, s.ServerID, asidePrefix+rootFile)); err != nil {
		t.Errorf("what was set aside: %v", err)
	}
}
