package qemu

// A guest that goes on on another volume: while it runs, off, cut short at each
// sub-step, and taken back.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/dev/image"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

const swapped, swapTo = "0a6f3b1e-5555-4a4e-8b9a-0c2a47c2f6a1", "0a6f3b1e-6666-4a4e-8b9a-0c2a47c2f6a1"

// swapping is a guest with a volume, and another one that is to take its place.
type swapping struct {
	*testing.T
	dir      string
	from     *glance
	spec     steps.ServerSpec
	old, new string
}

// pattern is what the old volume holds.
var pattern = bytes.Repeat([]byte("what was written before\n"), 1<<16)

func newSwapping(t *testing.T) *swapping {
	t.Helper()
	s := &swapping{T: t, dir: t.TempDir(), from: blank(), spec: spec()}
	s.old, s.new = volumeFile(t, "old", pattern, 4*mib), volumeFile(t, "new", nil, 4*mib)
	s.from.volumes = []hostlink.Connection{reachedAt(t, swapped, s.old, "raw"), reachedAt(t, swapTo, s.new, "raw")}
	s.spec.Volumes = []steps.Volume{{ID: swapped, AttachmentID: "a-old", Device: "vdb"}}
	d := host(t, s.dir, s.from, nil)
	t.Cleanup(func() { clean(t, host(t, s.dir, s.from, nil), s.spec.ServerID) })
	if _, err := d.Build(t.Context(), s.spec, confirmed); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *swapping) swap(ctx context.Context, d *Driver) error {
	return d.Swap(ctx, s.spec.ServerID, libvirt.Swap{Volume: steps.Volume{ID: swapped, AttachmentID: "a-new", Device: "vdb"}, To: swapTo}, confirmed)
}

func (s *swapping) undo(ctx context.Context, d *Driver) error {
	return d.UndoSwap(ctx, s.spec.ServerID, swapTo, confirmed)
}

// is checks which file the guest has, now and when it starts next, that nothing is
// copied any more, and that all that was written is there.
func (s *swapping) is(path, attachment string) {
	s.Helper()
	g, err := host(s.T, s.dir, s.from, nil).guest(s.spec.ServerID)
	if err != nil {
		s.Fatal(err)
	}
	c := &copying{guest: g, id: swapped}
	now, err := g.state(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, where := range places(now) {
		disk, err := c.look(s.Context(), where)
		if err != nil {
			s.Fatal(err)
		}
		if at, _ := disk.Copy(); disk.Path() != path || at != "" || disk.Name() != "vdb" || disk.Format() != "raw" {
			s.Errorf("%d: the guest has %s as %s of format %s, copied to %q; want %s", where, disk.Path(), disk.Name(), disk.Format(), at, path)
		}
	}
	if data, err := os.ReadFile(path); err != nil || len(data) != 4*mib || !bytes.HasPrefix(data, pattern) {
		s.Errorf("%s has %d bytes, %v", path, len(data), err)
	}
	r, err := g.read()
	if err != nil || len(r.Spec.Volumes) != 1 || r.Spec.Volumes[0].AttachmentID != attachment {
		s.Errorf("the record has %+v, %v, want %s", r.Spec.Volumes, err, attachment)
	}
}

// cut runs an act until it comes to a sub-step.
func (s *swapping) cut(at string, act func(context.Context, *Driver) error) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	err := act(ctx, host(s.T, s.dir, s.from, func(_, step string) {
		if step == at {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) {
		s.Errorf("cut at %s: %v", at, err)
	}
}

func (s *swapping) must(act func(context.Context, *Driver) error) {
	s.Helper()
	for range 2 {
		if err := act(s.Context(), host(s.T, s.dir, s.from, nil)); err != nil {
			s.Fatal(err)
		}
	}
}

// ends finishes the swap, or takes it back and starts the guest.
func (s *swapping) ends(undone bool) {
	s.Helper()
	if !undone {
		s.must(s.swap)
		s.is(s.new, "a-new")
		return
	}
	s.must(s.undo)
	s.must(s.start)
	s.is(s.old, "a-old")
}

// onlyNew has nothing be in the old volume any more.
func (s *swapping) onlyNew() {
	s.Helper()
	if err := errors.Join(os.Truncate(s.old, 0), os.Truncate(s.old, 4*mib)); err != nil {
		s.Fatal(err)
	}
}

// lose has libvirt forget the domain.
func (s *swapping) lose() {
	s.Helper()
	s.off()
	g, err := host(s.T, s.dir, s.from, nil).guest(s.spec.ServerID)
	if err == nil {
		err = g.undefine(s.Context(), confirmed)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *swapping) start(ctx context.Context, d *Driver) error {
	_, err := d.Power(ctx, s.spec.ServerID, steps.PowerStart, "", confirmed)
	return err
}

func (s *swapping) off() {
	s.Helper()
	if _, err := host(s.T, s.dir, s.from, nil).Power(s.Context(), s.spec.ServerID, steps.PowerForceStop, "", confirmed); err != nil {
		s.Fatal(err)
	}
}

var (
	swapSteps = []string{"swap.record", "swap.copy", "swap.pivot", "swap.define", "swap.keep", "swap.done"}
	undoSteps = []string{"unswap.end", "unswap.copy", "unswap.pivot", "unswap.define", "unswap.keep", "unswap.done"}
)

func TestSwap(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		t.Run("off "+strconv.FormatBool(off), func(t *testing.T) {
			t.Parallel()
			s := newSwapping(t)
			s.is(s.old, "a-old")
			s.must(s.undo) // of what was never begun
			if off {
				s.off()
			}
			s.must(s.swap)
			s.is(s.new, "a-new")
			s.onlyNew()
			s.must(s.undo)
			s.is(s.old, "a-old")
		})
	}
}

// A domain that libvirt loses, at each sub-step, is defined anew on the volume that has
// all that was written: the swap is finished from there, or taken back.
func TestSwapOfALostDomain(t *testing.T) {
	t.Parallel()
	for i, at := range swapSteps {
		for _, undone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, undone %t", at, undone), func(t *testing.T) {
				t.Parallel()
				s := newSwapping(t)
				s.cut(at, s.swap)
				if i > slices.Index(swapSteps, "swap.pivot") {
					s.onlyNew()
				}
				s.lose()
				s.ends(undone)
			})
		}
	}
	for _, at := range undoSteps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := newSwapping(t)
			s.must(s.swap)
			s.onlyNew()
			s.cut(at, s.undo)
			s.lose()
			s.ends(true)
		})
	}
}

// Cut short at each sub-step a swap is finished by the next attempt, or taken back,
// by one that is itself cut short.
func TestSwapCutShort(t *testing.T) {
	t.Parallel()
	for _, at := range swapSteps {
		for _, c := range []struct{ off, undone bool }{{}, {undone: true}, {off: true}, {off: true, undone: true}} {
			t.Run(fmt.Sprintf("%s, %+v", at, c), func(t *testing.T) {
				t.Parallel()
				s := newSwapping(t)
				s.cut(at, s.swap)
				if c.off {
					s.off()
				}
				s.ends(c.undone)
			})
		}
	}
	for _, at := range undoSteps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := newSwapping(t)
			s.must(s.swap)
			s.cut(at, s.undo)
			s.ends(true)
		})
	}
}

// A fence that has risen stops a swap before each line that it can't take back.
func TestSwapRefused(t *testing.T) {
	t.Parallel()
	s := newSwapping(t)
	refused := errors.New("refused")
	d := host(t, s.dir, s.from, nil)
	asked := libvirt.Swap{Volume: steps.Volume{ID: swapped, AttachmentID: "a-new", Device: "vdb"}, To: swapTo}
	for allowed := range 3 {
		n := 0
		err := d.Swap(t.Context(), s.spec.ServerID, asked, func() error {
			if n++; n > allowed {
				return refused
			}
			return nil
		})
		if !errors.Is(err, refused) {
			t.Errorf("%d times allowed: %v", allowed, err)
		}
	}
	if err := d.UndoSwap(t.Context(), s.spec.ServerID, swapTo, func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("undo: %v", err)
	}
	s.must(s.undo)
	s.is(s.old, "a-old")
	none := asked
	none.Volume.ID = "another"
	if err := d.Swap(t.Context(), s.spec.ServerID, none, confirmed); !faults.Is(err, faults.NotFound) {
		t.Errorf("of a volume that it hasn't: %v", err)
	}
	if err := d.UndoSwap(t.Context(), spec().ServerID, swapTo, confirmed); err != nil {
		t.Errorf("of a guest that isn't there: %v", err)
	}
}

var recordLine = regexp.MustCompile(`record: (\d+)\n`)

// records are those that the guest says it has written.
func records(console string) (all []int) {
	for _, m := range recordLine.FindAllStringSubmatch(console, -1) {
		n, _ := strconv.Atoi(m[1])
		all = append(all, n)
	}
	return all
}

// A guest that boots from the volume, and writes to it without an end, goes on on the
// new one, and leaves the old one alone.
func TestSwapWhileTheGuestWrites(t *testing.T) {
	t.Parallel()
	from := bootable(t)
	raw := filepath.Join(t.TempDir(), "root.qcow2")
	if err := os.WriteFile(raw, from.data, 0o600); err != nil {
		t.Fatal(err)
	}
	old := volumeFile(t, "old", nil, 64*mib)
	if err := run(t.Context(), "qemu-img", "convert", "-n", "-f", "qcow2", "-O", "raw", raw, old); err != nil {
		t.Fatal(err)
	}
	new := volumeFile(t, "new", nil, 64*mib)
	from.volumes = []hostlink.Connection{reachedAt(t, swapped, old, "raw"), reachedAt(t, swapTo, new, "raw")}
	from.drive["openstack/latest/user_data"] = []byte("records")
	d, s := host(t, t.TempDir(), from, nil), spec()
	s.ConfigDrive = true
	s.ImageID, s.RootGB, s.MemoryMB, s.ImageProperties = "", 5, 192, image.Properties
	s.Volumes = []steps.Volume{{ID: swapped, AttachmentID: "a-old", Device: "vda", Boot: true}}
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	says(t, d, s.ServerID, "record: 10\n", 1)
	volume := steps.Volume{ID: swapped, AttachmentID: "a-new", Device: "vda", Boot: true}
	if err := d.Swap(t.Context(), s.ServerID, libvirt.Swap{Volume: volume, To: swapTo}, confirmed); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	written := slices.Max(records(says(t, d, s.ServerID, image.Banner, 1)))
	says(t, d, s.ServerID, "record: "+strconv.Itoa(written+20)+"\n", 1)
	if after, err := os.ReadFile(old); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the guest still writes to its old volume: %v", err)
	}
}
