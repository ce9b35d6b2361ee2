package qemu

// Rebuilds on a real libvirtd.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/steps"
)

// inode says which file a path is.
func inode(t *testing.T, d *Driver, serverID, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(d.dir, serverID, name))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// An image that is on the host already is not downloaded for a guest.
func TestCacheImage(t *testing.T) {
	t.Parallel()
	from := blank()
	d, s := host(t, t.TempDir(), from, nil), spec()
	defer clean(t, d, s.ServerID)
	for range 2 {
		if err := d.CacheImage(t.Context(), from.image.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	if n := from.opened.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
}

// The guest has a new root disk and runs, or stands still as before; what the
// rebuild needed on its way is gone.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]bool{"running": false, "left off": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := host(t, t.TempDir(), blank(), nil), spec()
			defer clean(t, d, s.ServerID)
			if _, err := d.Build(t.Context(), s, confirmed); err != nil {
				t.Fatal(err)
			}
			own, disk := disksOf(t, d, s.ServerID), inode(t, d, s.ServerID, rootFile)
			if err := d.PrepareImage(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			want := libvirt.Running
			if off {
				want = libvirt.Shutdown
			}
			for range 2 {
				if got, err := d.Rebuild(t.Context(), steps.RebuildIn{Spec: s, Off: off}, "first", confirmed); err != nil || got.PowerState != want {
					t.Fatalf("%+v, %v, want power %d", got, err, want)
				}
			}
			if got := disksOf(t, d, s.ServerID); got != own {
				t.Errorf("its disks are %q, were %q", got, own)
			}
			if now := inode(t, d, s.ServerID, rootFile); os.SameFile(now, disk) && now.ModTime().Equal(disk.ModTime()) {
				t.Error("the root disk is the old one")
			}
			if _, err := os.Stat(filepath.Join(d.dir, s.ServerID, rebuildBase)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left (%v)", rebuildBase, err)
			}
		})
	}
}

// A rebuild that is interrupted anywhere goes on when it is run again, and a hard
// reboot finishes one that was begun.
func TestRebuildInterrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"rebuild.image", "rebuild.begin", "rebuild.off", "rebuild.clear", "rebuild.make", "rebuild.start", "rebuild.done"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			var stop context.CancelFunc
			d, s := host(t, t.TempDir(), blank(), func(_, step string) {
				if step == at && stop != nil {
					stop()
				}
			}), spec()
			defer clean(t, d, s.ServerID)
			if _, err := d.Build(t.Context(), s, confirmed); err != nil {
				t.Fatal(err)
			}
			own := disksOf(t, d, s.ServerID)
			var ctx context.Context
			ctx, stop = context.WithCancel(t.Context())
			if _, err := d.Rebuild(ctx, steps.RebuildIn{Spec: s}, "first", confirmed); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v, want cancelled", err)
			}
			stop = nil
			if got, err := d.Power(t.Context(), s.ServerID, steps.PowerHardReboot, "reboot", confirmed); err != nil || got.PowerState != libvirt.Running {
				t.Fatalf("rebooted: %+v, %v", got, err)
			}
			if got, err := d.Rebuild(t.Context(), steps.RebuildIn{Spec: s}, "first", confirmed); err != nil || got.PowerState != libvirt.Running {
				t.Fatalf("again: %+v, %v", got, err)
			}
			if got := disksOf(t, d, s.ServerID); got != own {
				t.Errorf("its disks are %q, were %q", got, own)
			}
		})
	}
}
