package qemu

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// left lists the copies in the guest's folder, half-made ones too.
func left(t *testing.T, d *Driver, serverID string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"snapshot.*", ".snapshot.*"} {
		files, err := filepath.Glob(filepath.Join(d.dir, serverID, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, files...)
	}
	return names
}

// A copy of the disk stands alone and has what the disk has, whether the guest
// runs, is paused, saved or off; and the guest is as it was.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	from := blank()
	d, s := host(t, t.TempDir(), from, nil), spec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	for _, action := range []steps.PowerAction{"", steps.PowerPause, steps.PowerUnpause, steps.PowerSuspend, steps.PowerResume, steps.PowerForceStop} {
		if action != "" {
			if _, err := d.Power(t.Context(), s.ServerID, action, string(action), confirmed); err != nil {
				t.Fatalf("%s: %v", action, err)
			}
		}
		before, err := d.Observe(t.Context(), s.ServerID)
		if err != nil {
			t.Fatal(err)
		}
		var path string
		for range 2 {
			if path, err = d.Snapshot(t.Context(), s.ServerID, "mark"+string(action), confirmed); err != nil {
				t.Fatalf("after %q: %v", action, err)
			}
		}
		whole := filepath.Join(t.TempDir(), "raw")
		if err := images.QemuImg(t.Context(), "convert", "-f", "qcow2", "-O", "raw", path, whole); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(whole)
		if err != nil || len(data) != 1<<30 || !bytes.Equal(data[:len(from.data)], from.data) {
			t.Errorf("after %q: the copy has %d bytes, %v", action, len(data), err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if header, err := images.Accept("i", "qcow2", file, info.Size()); err != nil || header.VirtualSize != 1<<30 {
			t.Errorf("after %q: %+v, %v", action, header, err)
		}
		file.Close()
		if got := left(t, d, s.ServerID); len(got) != 1 || got[0] != path {
			t.Errorf("after %q: copies %v", action, got)
		}
		if after, err := d.Observe(t.Context(), s.ServerID); err != nil || after != before {
			t.Errorf("after %q: the guest is %+v, %v; was %+v", action, after, err, before)
		}
	}
	for range 2 {
		if err := d.DropSnapshots(t.Context(), s.ServerID); err != nil || len(left(t, d, s.ServerID)) != 0 {
			t.Errorf("%v, copies %v", err, left(t, d, s.ServerID))
		}
	}
	if _, err := d.Snapshot(t.Context(), spec().ServerID, "mark", confirmed); !faults.Is(err, faults.NotFound) {
		t.Errorf("of no guest: %v", err)
	}
}

// A backup that nobody waits for any more is ended, by a drop and by the next
// snapshot; and one that is cancelled leaves nothing.
func TestSnapshotAbandoned(t *testing.T) {
	t.Parallel()
	d, s := host(t, t.TempDir(), blank(), nil), spec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	g, err := d.guest(s.ServerID)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []func() error{
		func() error { return d.DropSnapshots(t.Context(), s.ServerID) },
		func() error { _, err := d.Snapshot(t.Context(), s.ServerID, "next", confirmed); return err },
	} {
		if err := g.beginBackup(t.Context(), g.file(".snapshot.old.making")); err != nil {
			t.Fatal(err)
		}
		if err := next(); err != nil {
			t.Fatal(err)
		}
		if running, err := g.backingUp(t.Context()); err != nil || running {
			t.Errorf("a backup runs: %t, %v", running, err)
		}
	}
	if got := left(t, d, s.ServerID); len(got) != 1 || filepath.Base(got[0]) != "snapshot.next" {
		t.Errorf("copies %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := d.Snapshot(ctx, s.ServerID, "cut", func() error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := d.DropSnapshots(t.Context(), s.ServerID); err != nil || len(left(t, d, s.ServerID)) != 0 {
		t.Errorf("%v, copies %v", err, left(t, d, s.ServerID))
	}
}
