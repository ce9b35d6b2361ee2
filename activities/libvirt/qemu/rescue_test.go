package qemu

// Rescues on a real libvirtd.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/steps"
)

// disksOf are the files of the domain's disks as libvirt has them, in their order.
func disksOf(t *testing.T, d *Driver, serverID string) string {
	t.Helper()
	g, err := d.guest(serverID)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	err = g.domain(t.Context(), callTime, "read the domain", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) (err error) {
		text, err = rpc.DomainGetXMLDesc(dom, golibvirt.DomainXMLInactive)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, part := range strings.Split(text, "<source file='")[1:] {
		path, _, _ := strings.Cut(part, "'")
		names = append(names, filepath.Base(path))
	}
	return strings.Join(names, " ")
}

// The guest runs from the image with its own disk second or, in a stable rescue,
// after its own; taken back it is as it was, and the rescue's files are gone.
func TestRescue(t *testing.T) {
	t.Parallel()
	legacy := steps.Rescue{ImageID: "blank"}
	stable := steps.Rescue{ImageID: "blank", ImageProperties: map[string]string{"hw_rescue_device": "disk", "hw_rescue_bus": "usb"}}
	for name, c := range map[string]struct {
		from  steps.Rescue
		stop  bool
		leave steps.PowerAction
		disks string
		want  int
	}{
		"unrescued":           {legacy, false, steps.PowerUnrescue, "disk.rescue disk", libvirt.Running},
		"stable":              {stable, false, steps.PowerUnrescue, "disk disk.rescue", libvirt.Running},
		"stopped, unrescued":  {legacy, true, steps.PowerUnrescue, "disk.rescue disk", libvirt.Running},
		"stopped, taken back": {legacy, true, steps.PowerUndoRescue, "disk.rescue disk", libvirt.Shutdown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := host(t, t.TempDir(), blank(), nil), spec()
			defer clean(t, d, s.ServerID)
			if _, err := d.Build(t.Context(), s, confirmed); err != nil {
				t.Fatal(err)
			}
			if c.stop {
				if _, err := d.Power(t.Context(), s.ServerID, steps.PowerForceStop, "", confirmed); err != nil {
					t.Fatal(err)
				}
			}
			own := disksOf(t, d, s.ServerID)
			for range 2 {
				if got, err := d.Rescue(t.Context(), s.ServerID, c.from, confirmed); err != nil || got.PowerState != libvirt.Running {
					t.Fatalf("%+v, %v", got, err)
				}
			}
			if got := disksOf(t, d, s.ServerID); got != c.disks {
				t.Errorf("rescued, its disks are %q, want %q", got, c.disks)
			}
			for range 2 {
				if got, err := d.Power(t.Context(), s.ServerID, c.leave, "", confirmed); err != nil || got.PowerState != c.want {
					t.Fatalf("%+v, %v, want power %d", got, err, c.want)
				}
			}
			if got := disksOf(t, d, s.ServerID); got != own {
				t.Errorf("afterwards its disks are %q, were %q", got, own)
			}
			for _, name := range []string{rescueFile, rescueBase, rescueConfig} {
				if _, err := os.Stat(filepath.Join(d.dir, s.ServerID, name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left (%v)", name, err)
				}
			}
		})
	}
}

// A rescue that is interrupted anywhere goes on when it is run again, and can be
// taken back.
func TestRescueInterrupted(t *testing.T) {
	t.Parallel()
	from := steps.Rescue{ImageID: "blank"}
	for _, at := range []string{"rescue.image", "rescue.disk", "rescue.config", "rescue.off", "rescue.define", "rescue.start", "rescue.done"} {
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
			interrupted := func() {
				t.Helper()
				var ctx context.Context
				ctx, stop = context.WithCancel(t.Context())
				if _, err := d.Rescue(ctx, s.ServerID, from, confirmed); !errors.Is(err, context.Canceled) {
					t.Fatalf("%v, want cancelled", err)
				}
				stop = nil
			}
			leave := func(action steps.PowerAction) {
				t.Helper()
				if got, err := d.Power(t.Context(), s.ServerID, action, "", confirmed); err != nil || got.PowerState != libvirt.Running {
					t.Fatalf("%s: %+v, %v", action, got, err)
				}
				if got := disksOf(t, d, s.ServerID); got != own {
					t.Errorf("%s: its disks are %q, were %q", action, got, own)
				}
			}
			interrupted()
			leave(steps.PowerUndoRescue)
			interrupted()
			if got, err := d.Rescue(t.Context(), s.ServerID, from, confirmed); err != nil || got.PowerState != libvirt.Running {
				t.Fatalf("again: %+v, %v", got, err)
			}
			leave(steps.PowerUnrescue)
		})
	}
}
